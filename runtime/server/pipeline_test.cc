#include "runtime/server/pipeline.h"

#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/server/pipeline_fixture.h"
#include "runtime/testing/fake_worker.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::Caller;
using ::omni::testing::FakeWorker;
using ::omni::testing::FakeWorkerControl;
using ::omni::testing::Fault;
using ::omni::testing::HasReason;
using ::omni::testing::PipelineTest;
using ::omni::testing::StatusIs;
using ::omni::testing::Step;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(PipelineTest, AnswersInTheOrderOfTheQuestions) {
  Caller caller("r", 3);
  ASSERT_OK(caller.Start(*pipeline_));
  ASSERT_OK_AND_ASSIGN(const v1::DecideResponse response, caller.Wait());
  ASSERT_EQ(response.answers_size(), 3);
  EXPECT_EQ(response.answers(0).id(), "1");
  EXPECT_EQ(response.answers(2).id(), "3");
  EXPECT_THAT(control_->started(), ElementsAre("r/1", "r/2", "r/3"));
}

TEST_F(PipelineTest, ARequestWithoutUnitsNeedsNoExecutor) {
  Caller caller("r", 0);
  ASSERT_OK(caller.Start(*pipeline_));
  EXPECT_OK(caller.Wait());
  EXPECT_THAT(control_->started(), IsEmpty());
}

TEST_F(PipelineTest, TimesAreThoseOfTheClock) {
  control_->Hold(Step::kPrepare);
  control_->Hold(Step::kUnit);
  Caller caller("r", 1);
  ASSERT_OK(caller.Start(*pipeline_));
  control_->AwaitReached(Step::kPrepare, "r");
  clock_.Advance(absl::Seconds(2));
  control_->Release(Step::kPrepare, "r");
  control_->AwaitStarted("r/1");
  clock_.Advance(absl::Seconds(3));
  control_->ReleaseAll();
  ASSERT_OK_AND_ASSIGN(const v1::DecideResponse response, caller.Wait());
  EXPECT_EQ(response.timing().prepare_seconds(), 2);
  EXPECT_EQ(response.timing().queue_seconds(), 0);
  EXPECT_EQ(response.timing().execute_seconds(), 3);
  EXPECT_EQ(response.timing().total_seconds(), 5);
}

TEST_F(PipelineTest, QueueTimeIsThatOfAllUnits) {
  Make(/*max_pending=*/64, /*host_threads=*/1);
  control_->Hold(Step::kUnit);
  Caller first("first", 1);
  Caller second("second", 2);
  ASSERT_OK(first.Start(*pipeline_));
  control_->AwaitStarted("first/1");
  ASSERT_OK(second.Start(*pipeline_));
  Settle();
  clock_.Advance(absl::Seconds(4));
  control_->Release(Step::kUnit, "first");
  control_->AwaitStarted("second/1");
  clock_.Advance(absl::Seconds(1));
  control_->ReleaseAll();
  ASSERT_OK_AND_ASSIGN(const v1::DecideResponse response, second.Wait());
  EXPECT_EQ(response.timing().queue_seconds(), 4);
  EXPECT_EQ(response.timing().execute_seconds(), 1);
}

TEST_F(PipelineTest, WarmUpGoesTheWholeWay) {
  EXPECT_OK(pipeline_->WarmUp());
  EXPECT_THAT(control_->started(), ElementsAre("warm-up/q"));
  EXPECT_EQ(depth(), 0);
}

TEST_F(PipelineTest, WarmUpFailsWithEveryStep) {
  for (const Step step :
       {Step::kPrepare, Step::kUnit, Step::kAccept, Step::kFinish}) {
    for (const Fault fault : {Fault::kRequestError, Fault::kError}) {
      control_->Inject(step, "warm-up", fault);
      EXPECT_FALSE(pipeline_->WarmUp().ok());
    }
    Make();
  }
  control_->Inject(Step::kFinish, "warm-up", Fault::kBadUtf8);
  EXPECT_FALSE(pipeline_->WarmUp().ok());
}

TEST_F(PipelineTest, ABodyThatIsNoObjectIsMalformed) {
  for (const char* body : {"[]", "1", "null", "\"text\"", "{", ""}) {
    SCOPED_TRACE(body);
    Caller caller{std::string(body)};
    ASSERT_OK(caller.Start(*pipeline_));
    EXPECT_THAT(caller.Wait(), HasReason(v1::ErrorReason::MALFORMED_JSON));
  }
}

TEST_F(PipelineTest, ErrorsOfTheWorkersHostCodeLeaveItReady) {
  for (const Step step : {Step::kPrepare, Step::kAccept, Step::kFinish}) {
    for (const Fault fault :
         {Fault::kRequestError, Fault::kError, Fault::kThrow}) {
      control_->Inject(step, "bad", fault);
      Caller bad("bad", 2);
      ASSERT_OK(bad.Start(*pipeline_));
      EXPECT_THAT(bad.Wait(), HasReason(fault == Fault::kRequestError
                                            ? v1::ErrorReason::BAD_STATE
                                            : v1::ErrorReason::INTERNAL));
      EXPECT_THAT(std::string(bad.result().status().message()),
                  Not(HasSubstr("secret")));
    }
    Make();
  }
  Caller good("good", 1);
  ASSERT_OK(good.Start(*pipeline_));
  EXPECT_OK(good.Wait());
  EXPECT_EQ(life_cycle_.state(), v1::WORKER_STATE_READY);
}

TEST_F(PipelineTest, AnErrorOfAUnitLeavesTheWorkerReady) {
  control_->Inject(Step::kUnit, "bad", Fault::kError);
  Caller bad("bad", 2);
  ASSERT_OK(bad.Start(*pipeline_));
  EXPECT_THAT(bad.Wait(), HasReason(v1::ErrorReason::INTERNAL));
  // Nothing follows the unit that failed.
  EXPECT_THAT(control_->started(), ElementsAre("bad/1"));
  Caller good("good", 1);
  ASSERT_OK(good.Start(*pipeline_));
  EXPECT_OK(good.Wait());
  EXPECT_EQ(life_cycle_.state(), v1::WORKER_STATE_READY);
}

TEST_F(PipelineTest, AnErrorBetweenUnitsStopsTheRest) {
  control_->Inject(Step::kAccept, "bad", Fault::kError);
  Caller bad("bad", 3);
  ASSERT_OK(bad.Start(*pipeline_));
  EXPECT_FALSE(bad.Wait().ok());
  EXPECT_THAT(control_->started(), ElementsAre("bad/1"));
}

TEST_F(PipelineTest, AResponseThatCannotBeSentIsInternal) {
  control_->Inject(Step::kFinish, "bad", Fault::kBadUtf8);
  Caller bad("bad", 1);
  ASSERT_OK(bad.Start(*pipeline_));
  EXPECT_THAT(bad.Wait(), HasReason(v1::ErrorReason::INTERNAL));
}

// A unit that throws or says so itself ends the executor.
class ExecutorFailureTest : public PipelineTest,
                            public ::testing::WithParamInterface<Fault> {};

TEST_P(ExecutorFailureTest, ComesBeforeTheReplyAndEndsTheWaiters) {
  control_->Hold(Step::kUnit);
  control_->Inject(Step::kUnit, "bad", GetParam());
  Caller bad("bad", 2);
  bool failed_before_reply = false;
  bool destroyed_before_reply = false;
  bad.Then([&] {
    failed_before_reply = life_cycle_.state() == v1::WORKER_STATE_FAILED;
    destroyed_before_reply = control_->executor_destroyed();
  });
  Caller waiting("waiting", 1);
  ASSERT_OK(bad.Start(*pipeline_));
  control_->AwaitStarted("bad/1");
  ASSERT_OK(waiting.Start(*pipeline_));
  control_->AwaitUnitOf("waiting");
  // What is seen when health turns: nothing has happened yet.
  bool destroyed_before_health = true;
  bool waiter_ended_before_health = true;
  life_cycle_.Watch([&](v1::WorkerState state) {
    if (state != v1::WORKER_STATE_FAILED) return;
    destroyed_before_health = control_->executor_destroyed();
    waiter_ended_before_health = waiting.done();
  });
  control_->ReleaseAll();

  EXPECT_THAT(bad.Wait(), HasReason(v1::ErrorReason::INTERNAL));
  EXPECT_TRUE(failed_before_reply);
  EXPECT_TRUE(destroyed_before_reply);
  EXPECT_FALSE(destroyed_before_health);
  EXPECT_FALSE(waiter_ended_before_health);
  EXPECT_THAT(waiting.Wait(), HasReason(v1::ErrorReason::EXECUTOR_FAILED));
  EXPECT_THAT(control_->started(), ElementsAre("bad/1"));

  Caller later("later", 1);
  EXPECT_THAT(later.Start(*pipeline_),
              HasReason(v1::ErrorReason::EXECUTOR_FAILED));
  const v1::WorkerInfo info = pipeline_->Info();
  EXPECT_EQ(info.state(), v1::WORKER_STATE_FAILED);
  EXPECT_THAT(info.failure(),
              AnyOf(HasSubstr("device lost"), HasSubstr("threw")));
  EXPECT_EQ(info.queue().depth(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Faults, ExecutorFailureTest,
                         ::testing::Values(Fault::kExecutorFailed,
                                           Fault::kThrow));

TEST_F(PipelineTest, ARequestBetweenItsUnitsEndsWithTheExecutor) {
  control_->Hold(Step::kAccept);
  control_->Inject(Step::kUnit, "bad", Fault::kExecutorFailed);
  Caller between("between", 2);
  ASSERT_OK(between.Start(*pipeline_));
  control_->AwaitReached(Step::kAccept, "between");
  Caller bad("bad", 1);
  ASSERT_OK(bad.Start(*pipeline_));
  EXPECT_FALSE(bad.Wait().ok());
  control_->ReleaseAll();
  EXPECT_THAT(between.Wait(), HasReason(v1::ErrorReason::EXECUTOR_FAILED));
}

TEST_F(PipelineTest, AFullQueueRefusesAndRecovers) {
  Make(/*max_pending=*/2);
  control_->Hold(Step::kUnit);
  Caller first("first", 1);
  Caller second("second", 1);
  ASSERT_OK(first.Start(*pipeline_));
  ASSERT_OK(second.Start(*pipeline_));
  Caller third("third", 1);
  EXPECT_THAT(third.Start(*pipeline_), HasReason(v1::ErrorReason::QUEUE_FULL));
  EXPECT_EQ(pipeline_->Info().queue().refused(), 1u);
  EXPECT_EQ(depth(), 2);
  control_->ReleaseAll();
  EXPECT_OK(first.Wait());
  EXPECT_OK(second.Wait());
  Caller fourth("fourth", 1);
  ASSERT_OK(fourth.Start(*pipeline_));
  EXPECT_OK(fourth.Wait());
}

TEST_F(PipelineTest, TheSlotIsTakenBeforePrepare) {
  Make(/*max_pending=*/1);
  control_->Hold(Step::kPrepare);
  Caller first("first", 1);
  ASSERT_OK(first.Start(*pipeline_));
  control_->AwaitReached(Step::kPrepare, "first");
  Caller second("second", 1);
  EXPECT_THAT(second.Start(*pipeline_), HasReason(v1::ErrorReason::QUEUE_FULL));
  control_->ReleaseAll();
  EXPECT_OK(first.Wait());
}

TEST_F(PipelineTest, TheSlotIsFreeWhenTheCallerHasItsResult) {
  Make(/*max_pending=*/1);
  Caller second("second", 1);
  absl::Status admitted = absl::UnknownError("not tried");
  Caller first("first", 2);
  first.Then([&] { admitted = second.Start(*pipeline_); });
  ASSERT_OK(first.Start(*pipeline_));
  EXPECT_OK(first.Wait());
  ASSERT_OK(admitted);
  EXPECT_OK(second.Wait());
}

TEST_F(PipelineTest, ALaterUnitOfAnAcceptedRequestIsNeverRefused) {
  Make(/*max_pending=*/2);
  control_->Hold(Step::kUnit);
  Caller first("first", 3);
  Caller second("second", 3);
  ASSERT_OK(first.Start(*pipeline_));
  ASSERT_OK(second.Start(*pipeline_));
  Caller third("third", 1);
  EXPECT_THAT(third.Start(*pipeline_), HasReason(v1::ErrorReason::QUEUE_FULL));
  control_->ReleaseAll();
  EXPECT_OK(first.Wait());
  EXPECT_OK(second.Wait());
  EXPECT_EQ(control_->started().size(), 6u);
}

TEST_F(PipelineTest, UnitsOfTwoRequestsAlternate) {
  // One host thread, so that the next unit of whoever ran first is submitted
  // first.
  Make(/*max_pending=*/64, /*host_threads=*/1);
  control_->Hold(Step::kUnit);
  Caller a("a", 3);
  Caller b("b", 3);
  ASSERT_OK(a.Start(*pipeline_));
  control_->AwaitStarted("a/1");
  ASSERT_OK(b.Start(*pipeline_));
  control_->AwaitUnitOf("b");
  control_->ReleaseAll();
  EXPECT_OK(a.Wait());
  EXPECT_OK(b.Wait());
  EXPECT_THAT(control_->started(),
              ElementsAre("a/1", "b/1", "a/2", "b/2", "a/3", "b/3"));
}

TEST_F(PipelineTest, ThePermitIsFreeBetweenTheUnitsOfARequest) {
  control_->Hold(Step::kAccept);
  control_->Release(Step::kAccept, "other");
  Caller between("between", 2);
  ASSERT_OK(between.Start(*pipeline_));
  control_->AwaitReached(Step::kAccept, "between");
  Caller other("other", 2);
  ASSERT_OK(other.Start(*pipeline_));
  EXPECT_OK(other.Wait());
  EXPECT_THAT(control_->started(),
              ElementsAre("between/1", "other/1", "other/2"));
  control_->ReleaseAll();
  EXPECT_OK(between.Wait());
}

TEST_F(PipelineTest, TheEstimatedWaitCountsAllUnitsOfARequest) {
  // One without a unit, which says nothing about the others.
  Caller empty("empty", 0);
  ASSERT_OK(empty.Start(*pipeline_));
  EXPECT_OK(empty.Wait());
  control_->Hold(Step::kAccept);
  Caller first("first", 2);
  ASSERT_OK(first.Start(*pipeline_));
  control_->AwaitReached(Step::kAccept, "first");
  control_->Hold(Step::kUnit);
  control_->Release(Step::kAccept, "first");
  control_->AwaitStarted("first/2");
  clock_.Advance(absl::Seconds(6));
  control_->Release(Step::kUnit, "first");
  EXPECT_OK(first.Wait());
  Caller second("second", 2);
  ASSERT_OK(second.Start(*pipeline_));
  EXPECT_EQ(pipeline_->EstimatedWait(), absl::Seconds(6));
  control_->ReleaseAll();
}

TEST_F(PipelineTest, TheEstimatedWaitIsTheMeanRunTimeOfWhatIsAhead) {
  EXPECT_EQ(pipeline_->EstimatedWait(), absl::ZeroDuration());
  control_->Hold(Step::kUnit);
  Caller first("first", 1);
  ASSERT_OK(first.Start(*pipeline_));
  control_->AwaitStarted("first/1");
  clock_.Advance(absl::Seconds(2));
  control_->Release(Step::kUnit, "first");
  EXPECT_OK(first.Wait());
  EXPECT_EQ(pipeline_->EstimatedWait(), absl::ZeroDuration());
  Caller second("second", 1);
  Caller third("third", 1);
  ASSERT_OK(second.Start(*pipeline_));
  ASSERT_OK(third.Start(*pipeline_));
  EXPECT_EQ(pipeline_->EstimatedWait(), absl::Seconds(4));
  control_->ReleaseAll();
}

TEST_F(PipelineTest, InfoTellsTheWorkerItsLimitsAndTheQueue) {
  Make(/*max_pending=*/5);
  control_->Hold(Step::kUnit);
  Caller caller("r", 1);
  ASSERT_OK(caller.Start(*pipeline_));
  control_->AwaitStarted("r/1");
  clock_.Advance(absl::Seconds(3));
  v1::WorkerInfo info = pipeline_->Info();
  EXPECT_EQ(info.model(), "fake@1");
  EXPECT_EQ(info.state(), v1::WORKER_STATE_READY);
  EXPECT_THAT(info.failure(), IsEmpty());
  EXPECT_EQ(info.limits().max_body_bytes(), 4u << 20);
  EXPECT_EQ(info.limits().max_json_depth(), 127u);
  EXPECT_EQ(info.limits().default_deadline_seconds(), 60);
  EXPECT_EQ(info.queue().depth(), 1u);
  EXPECT_EQ(info.queue().capacity(), 5u);
  control_->ReleaseAll();
  EXPECT_OK(caller.Wait());
  info = pipeline_->Info();
  EXPECT_EQ(info.queue().units_run(), 1u);
  EXPECT_EQ(info.queue().run_seconds(), 3);
}

TEST(PipelineCreateTest, ChecksItsOptions) {
  LifeCycle life_cycle;
  const auto make = [&](int max_pending, int host_threads) {
    return Pipeline::Create(
        std::make_unique<FakeWorker>(std::make_shared<FakeWorkerControl>()),
        &life_cycle,
        {.max_pending = max_pending, .host_threads = host_threads});
  };
  EXPECT_OK(make(1, 1));
  for (const auto& [max_pending, host_threads] :
       {std::pair(0, 1), std::pair(-1, 1), std::pair(1'000'001, 1),
        std::pair(1, 0)}) {
    EXPECT_THAT(make(max_pending, host_threads),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace omni
