// The ways in which a request ends before it has its answer: its caller goes,
// its deadline passes, the worker shuts down.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/server/pipeline.h"
#include "runtime/server/pipeline_fixture.h"
#include "runtime/testing/fake_worker.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::Caller;
using ::omni::testing::Fault;
using ::omni::testing::HasReason;
using ::omni::testing::PipelineTest;
using ::omni::testing::Step;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(PipelineTest, ACallerThatIsGoneBeforeTheStartCostsNothing) {
  Caller caller("r", 1);
  ASSERT_OK(caller.Admit(*pipeline_));
  caller.Cancel();
  caller.StartAdmitted();
  EXPECT_THAT(caller.Wait(), HasReason(v1::ErrorReason::CALLER_GONE));
  EXPECT_FALSE(control_->reached(Step::kPrepare, "r"));
  EXPECT_EQ(depth(), 0);
}

TEST_F(PipelineTest, CancellingDuringPrepareSubmitsNothing) {
  control_->Hold(Step::kPrepare);
  Caller caller("r", 1);
  ASSERT_OK(caller.Start(*pipeline_));
  control_->AwaitReached(Step::kPrepare, "r");
  caller.Cancel();
  EXPECT_FALSE(caller.done());
  control_->ReleaseAll();
  EXPECT_THAT(caller.Wait(), HasReason(v1::ErrorReason::CALLER_GONE));
  EXPECT_THAT(control_->started(), IsEmpty());
}

TEST_F(PipelineTest, ACancelledWaiterLeavesAtOnceAndIsNeverDispatched) {
  Make(/*max_pending=*/64, /*host_threads=*/1);
  control_->Hold(Step::kUnit);
  Caller a("a", 1);
  Caller b("b", 2);
  Caller c("c", 1);
  ASSERT_OK(a.Start(*pipeline_));
  control_->AwaitStarted("a/1");
  ASSERT_OK(b.Start(*pipeline_));
  ASSERT_OK(c.Start(*pipeline_));
  Settle();
  b.Cancel();
  // All of it before Cancel has returned, with a's unit still running.
  EXPECT_TRUE(b.done());
  EXPECT_THAT(b.result(), HasReason(v1::ErrorReason::CALLER_GONE));
  EXPECT_EQ(control_->live_units(), 2);
  EXPECT_EQ(control_->live_decisions(), 2);
  EXPECT_EQ(depth(), 2);
  control_->ReleaseAll();
  EXPECT_OK(c.Wait());
  EXPECT_THAT(control_->started(), ElementsAre("a/1", "c/1"));
}

TEST_F(PipelineTest, ACallerFoundGoneAtDispatchIsNotDispatched) {
  Caller gone("gone", 1);
  gone.Gone();
  ASSERT_OK(gone.Start(*pipeline_));
  EXPECT_THAT(gone.Wait(), HasReason(v1::ErrorReason::CALLER_GONE));
  EXPECT_THAT(control_->started(), IsEmpty());
}

TEST_F(PipelineTest, ADispatchedUnitRunsToItsEndAndKeepsTheSlot) {
  Make(/*max_pending=*/1);
  control_->Hold(Step::kUnit);
  Caller caller("r", 2);
  ASSERT_OK(caller.Start(*pipeline_));
  control_->AwaitStarted("r/1");
  caller.Cancel();
  EXPECT_FALSE(caller.done());
  EXPECT_EQ(control_->live_units(), 1);
  Caller other("other", 1);
  EXPECT_THAT(other.Start(*pipeline_), HasReason(v1::ErrorReason::QUEUE_FULL));
  control_->ReleaseAll();
  EXPECT_THAT(caller.Wait(), HasReason(v1::ErrorReason::CALLER_GONE));
  // The second unit was not submitted.
  EXPECT_THAT(control_->started(), ElementsAre("r/1"));
}

TEST_F(PipelineTest, CancellingBetweenUnitsSubmitsNoMore) {
  control_->Hold(Step::kAccept);
  Caller caller("r", 3);
  ASSERT_OK(caller.Start(*pipeline_));
  control_->AwaitReached(Step::kAccept, "r");
  caller.Cancel();
  control_->ReleaseAll();
  EXPECT_THAT(caller.Wait(), HasReason(v1::ErrorReason::CALLER_GONE));
  EXPECT_THAT(control_->started(), ElementsAre("r/1"));
}

TEST_F(PipelineTest, CancellingAfterTheEndDoesNothing) {
  Caller caller("r", 1);
  ASSERT_OK(caller.Start(*pipeline_));
  EXPECT_OK(caller.Wait());
  caller.Cancel();
  EXPECT_OK(caller.result());
}

TEST_F(PipelineTest, ADeadlineThatHasPassedIsRefusedOnArrival) {
  Make(/*max_pending=*/1);
  Caller caller("r", 1);
  caller.WithDeadline(clock_.Now());
  EXPECT_THAT(caller.Start(*pipeline_),
              HasReason(v1::ErrorReason::DEADLINE_PASSED));
  EXPECT_EQ(depth(), 0);
}

TEST_F(PipelineTest, ADeadlineThatPassesBeforePrepareSavesIt) {
  Make(/*max_pending=*/64, /*host_threads=*/1);
  control_->Hold(Step::kPrepare);
  Caller first("first", 1);
  ASSERT_OK(first.Start(*pipeline_));
  control_->AwaitReached(Step::kPrepare, "first");
  Caller second("second", 1);
  second.WithDeadline(clock_.Now() + absl::Seconds(1));
  ASSERT_OK(second.Start(*pipeline_));
  clock_.Advance(absl::Seconds(1));
  control_->ReleaseAll();
  EXPECT_THAT(second.Wait(), HasReason(v1::ErrorReason::DEADLINE_PASSED));
  EXPECT_FALSE(control_->reached(Step::kPrepare, "second"));
}

TEST_F(PipelineTest, ADeadlineThatPassesDuringPrepareSubmitsNothing) {
  control_->Hold(Step::kPrepare);
  Caller caller("r", 1);
  caller.WithDeadline(clock_.Now() + absl::Seconds(1));
  ASSERT_OK(caller.Start(*pipeline_));
  control_->AwaitReached(Step::kPrepare, "r");
  clock_.Advance(absl::Seconds(1));
  control_->ReleaseAll();
  EXPECT_THAT(caller.Wait(), HasReason(v1::ErrorReason::DEADLINE_PASSED));
  EXPECT_THAT(control_->started(), IsEmpty());
}

TEST_F(PipelineTest, ADeadlineEndsAWaiterWhileTheExecutorIsBusy) {
  Make(/*max_pending=*/64, /*host_threads=*/1);
  control_->Hold(Step::kUnit);
  Caller a("a", 1);
  Caller b("b", 1);
  b.WithDeadline(clock_.Now() + absl::Seconds(1));
  ASSERT_OK(a.Start(*pipeline_));
  control_->AwaitStarted("a/1");
  ASSERT_OK(b.Start(*pipeline_));
  Settle();
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(b.Wait(), HasReason(v1::ErrorReason::DEADLINE_PASSED));
  EXPECT_FALSE(a.done());
  control_->ReleaseAll();
  EXPECT_OK(a.Wait());
  EXPECT_THAT(control_->started(), ElementsAre("a/1"));
}

TEST_F(PipelineTest, ADeadlineThatPassesInAUnitIsReportedAfterIt) {
  // With and without a unit that could still be submitted.
  for (const int questions : {1, 2}) {
    SCOPED_TRACE(questions);
    Make();
    control_->Hold(Step::kUnit);
    Caller caller("r", questions);
    caller.WithDeadline(clock_.Now() + absl::Seconds(1));
    ASSERT_OK(caller.Start(*pipeline_));
    control_->AwaitStarted("r/1");
    clock_.Advance(absl::Seconds(1));
    EXPECT_FALSE(caller.done());
    control_->ReleaseAll();
    EXPECT_THAT(caller.Wait(), HasReason(v1::ErrorReason::DEADLINE_PASSED));
    EXPECT_THAT(control_->started(), ElementsAre("r/1"));
  }
}

TEST_F(PipelineTest, ACallerThatGoesAfterItsDeadlineRanOutOfTime) {
  control_->Hold(Step::kPrepare);
  Caller caller("r", 1);
  caller.WithDeadline(clock_.Now() + absl::Seconds(1));
  ASSERT_OK(caller.Start(*pipeline_));
  control_->AwaitReached(Step::kPrepare, "r");
  clock_.Advance(absl::Seconds(1));
  caller.Cancel();
  control_->ReleaseAll();
  EXPECT_THAT(caller.Wait(), HasReason(v1::ErrorReason::DEADLINE_PASSED));
}

TEST_F(PipelineTest, DrainingRefusesNewRequestsAndFinishesAcceptedOnes) {
  control_->Hold(Step::kUnit);
  Caller accepted("accepted", 3);
  ASSERT_OK(accepted.Start(*pipeline_));
  control_->AwaitStarted("accepted/1");
  pipeline_->StopAdmission();
  Caller late("late", 1);
  EXPECT_THAT(late.Start(*pipeline_), HasReason(v1::ErrorReason::DRAINING));
  control_->ReleaseAll();
  EXPECT_TRUE(pipeline_->AwaitIdle(absl::InfiniteFuture()));
  EXPECT_TRUE(accepted.done());
  EXPECT_OK(accepted.result());
  EXPECT_EQ(control_->started().size(), 3u);
}

TEST_F(PipelineTest, AFailureStaysTheReasonWhileDraining) {
  control_->Inject(Step::kUnit, "bad", Fault::kExecutorFailed);
  Caller bad("bad", 1);
  ASSERT_OK(bad.Start(*pipeline_));
  EXPECT_THAT(bad.Wait(), HasReason(v1::ErrorReason::INTERNAL));
  pipeline_->StopAdmission();
  Caller late("late", 1);
  EXPECT_THAT(late.Start(*pipeline_),
              HasReason(v1::ErrorReason::EXECUTOR_FAILED));
}

TEST_F(PipelineTest, WaitingForIdleEndsAtTheDeadline) {
  control_->Hold(Step::kUnit);
  Caller caller("r", 1);
  ASSERT_OK(caller.Start(*pipeline_));
  control_->AwaitStarted("r/1");
  EXPECT_FALSE(pipeline_->AwaitIdle(clock_.Now()));
  control_->ReleaseAll();
  EXPECT_OK(caller.Wait());
  EXPECT_TRUE(pipeline_->AwaitIdle(absl::InfiniteFuture()));
}

TEST_F(PipelineTest, WithdrawingEndsWaitersAtOnceAndOthersAtTheirNextStep) {
  Make(/*max_pending=*/64, /*host_threads=*/3);
  control_->Hold(Step::kPrepare);
  control_->Hold(Step::kUnit);
  control_->Release(Step::kPrepare, "running");
  control_->Release(Step::kPrepare, "waiting");
  Caller running("running", 2);
  Caller waiting("waiting", 1);
  Caller preparing("preparing", 1);
  ASSERT_OK(running.Start(*pipeline_));
  control_->AwaitStarted("running/1");
  ASSERT_OK(waiting.Start(*pipeline_));
  control_->AwaitUnitOf("waiting");
  ASSERT_OK(preparing.Start(*pipeline_));
  control_->AwaitReached(Step::kPrepare, "preparing");
  pipeline_->StopAdmission();
  pipeline_->WithdrawAll();
  EXPECT_THAT(waiting.Wait(), HasReason(v1::ErrorReason::DRAINING));
  EXPECT_FALSE(running.done());
  control_->Release(Step::kPrepare, "preparing");
  EXPECT_THAT(preparing.Wait(), HasReason(v1::ErrorReason::DRAINING));
  EXPECT_FALSE(running.done());
  control_->ReleaseAll();
  EXPECT_THAT(running.Wait(), HasReason(v1::ErrorReason::DRAINING));
  EXPECT_THAT(control_->started(), ElementsAre("running/1"));
}

TEST_F(PipelineTest, StopDestroysTheExecutorOnItsThreadAfterTheLastUnit) {
  Caller caller("r", 1);
  ASSERT_OK(caller.Start(*pipeline_));
  EXPECT_OK(caller.Wait());
  EXPECT_FALSE(control_->executor_destroyed());
  pipeline_->Stop();
  EXPECT_TRUE(control_->executor_destroyed());
  EXPECT_TRUE(control_->one_executor_thread());
  pipeline_->Stop();
}

}  // namespace
}  // namespace omni
