// Cancel, callers that are gone, deadlines and Close.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/thread.h"
#include "runtime/scheduler/serial_scheduler.h"
#include "runtime/testing/fake_clock.h"
#include "runtime/testing/fake_executor.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::FakeClock;
using ::omni::testing::FakeExecutor;
using ::omni::testing::HasReason;
using ::omni::testing::StatusCatcher;
using ::omni::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WithdrawalTest : public ::testing::Test {
 protected:
  WithdrawalTest()
      : scheduler_(
            *SerialScheduler::Create({.max_pending = 64, .clock = &clock_})) {}
  ~WithdrawalTest() override { executor_.ReleaseAll(); }

  // Submits a gated unit and waits until it runs, so that others wait for it.
  void Hold(std::string_view name) {
    ASSERT_OK(executor_.SubmitGated(*scheduler_, name, [](const auto&) {}));
    executor_.WaitUntilStarted(name);
  }

  FakeClock clock_;
  FakeExecutor executor_;
  std::shared_ptr<SerialScheduler> scheduler_;
};

// ---- Cancel ----

TEST_F(WithdrawalTest, CancelledWaiterIsNeverDispatched) {
  Hold("a");
  StatusCatcher b, c;
  ASSERT_OK_AND_ASSIGN(Ticket second,
                       executor_.Submit(*scheduler_, "b", b.Callback()));
  ASSERT_OK(executor_.Submit(*scheduler_, "c", c.Callback()));
  EXPECT_TRUE(second.Cancel());
  EXPECT_THAT(b.Wait(), AllOf(StatusIs(absl::StatusCode::kCancelled),
                              HasReason(v1::ErrorReason::CALLER_GONE)));
  executor_.ReleaseAll();
  EXPECT_OK(c.Wait());  // Had b been dispatched, it would have started before.
  EXPECT_THAT(executor_.Started(), ElementsAre("a", "c"));
}

TEST_F(WithdrawalTest, CancelDestroysCapturesThenReportsBeforeItReturns) {
  Hold("a");
  ASSERT_OK_AND_ASSIGN(
      Ticket ticket,
      executor_.Submit(*scheduler_, "b", [&](const absl::StatusOr<int>&) {
        executor_.Record("result b");
      }));
  EXPECT_EQ(executor_.LiveCaptures(), 2);
  EXPECT_TRUE(ticket.Cancel());
  EXPECT_THAT(executor_.Events(), ElementsAre("start a", "drop b", "result b"));
}

TEST_F(WithdrawalTest, CancellingKeepsTheOrderOfTheOthers) {
  const struct {
    std::string name;
    std::vector<std::string> cancelled;
    std::vector<std::string> started;
  } cases[] = {
      {"first", {"b"}, {"a", "c", "d", "e"}},
      {"middle", {"c"}, {"a", "b", "d", "e"}},
      {"last", {"d"}, {"a", "b", "c", "e"}},
      {"neighbours", {"c", "b"}, {"a", "d", "e"}},
      {"all", {"d", "b", "c"}, {"a", "e"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    FakeExecutor executor;
    std::map<std::string, Ticket> tickets;
    for (const char* name : {"a", "b", "c", "d"}) {
      ASSERT_OK_AND_ASSIGN(
          tickets[name],
          executor.SubmitGated(*scheduler_, name, [](const auto&) {}));
    }
    executor.WaitUntilStarted("a");
    for (const std::string& name : c.cancelled) {
      EXPECT_TRUE(tickets[name].Cancel());
    }
    StatusCatcher e;
    ASSERT_OK(executor.Submit(*scheduler_, "e", e.Callback()));
    executor.ReleaseAll();
    EXPECT_OK(e.Wait());
    EXPECT_EQ(executor.Started(), c.started);
  }
}

TEST_F(WithdrawalTest, CancelAfterDispatchChangesNothing) {
  StatusCatcher a, b;
  ASSERT_OK_AND_ASSIGN(Ticket ticket,
                       executor_.SubmitGated(*scheduler_, "a", a.Callback()));
  executor_.WaitUntilStarted("a");
  ASSERT_OK(executor_.Submit(*scheduler_, "b", b.Callback()));
  EXPECT_FALSE(ticket.Cancel());
  EXPECT_FALSE(a.done());
  EXPECT_EQ(executor_.LiveCaptures(), 2);
  EXPECT_THAT(executor_.Events(), ElementsAre("start a"));
  executor_.ReleaseAll();
  EXPECT_OK(a.Wait());
  EXPECT_OK(b.Wait());
  EXPECT_THAT(executor_.Events(), ElementsAre("start a", "end a", "drop a",
                                              "start b", "end b", "drop b"));
}

TEST_F(WithdrawalTest, OnlyOneCancelOfAUnitSucceeds) {
  EXPECT_FALSE(Ticket().Cancel());
  Hold("a");
  StatusCatcher b;
  ASSERT_OK_AND_ASSIGN(Ticket ticket,
                       executor_.Submit(*scheduler_, "b", b.Callback()));
  Ticket copy = ticket;
  EXPECT_TRUE(copy.Cancel());
  EXPECT_FALSE(ticket.Cancel());
}

TEST_F(WithdrawalTest, DroppingATicketChangesNothing) {
  Hold("a");
  StatusCatcher b;
  {
    ASSERT_OK_AND_ASSIGN(Ticket ticket,
                         executor_.Submit(*scheduler_, "b", b.Callback()));
  }
  executor_.ReleaseAll();
  EXPECT_OK(b.Wait());
}

// ---- The hand-over of the permit ----

// A probe that blocks until it may return, to stop a unit between the
// assignment of the permit and its dispatch.
struct GatedProbe {
  absl::AnyInvocable<bool()> Probe(bool result) {
    return [this, result] {
      entered.Notify();
      gate.WaitForNotification();
      return result;
    };
  }
  absl::Notification entered;
  absl::Notification gate;
};

TEST_F(WithdrawalTest, CancelBetweenPermitAndDispatchPassesThePermitOn) {
  GatedProbe probe;
  StatusCatcher a, b;
  ASSERT_OK_AND_ASSIGN(Ticket ticket,
                       executor_.Submit(*scheduler_, "a", a.Callback(),
                                        {.caller_gone = probe.Probe(false)}));
  ASSERT_OK(executor_.Submit(*scheduler_, "b", b.Callback()));
  probe.entered.WaitForNotification();  // "a" has the permit.
  bool results[2] = {};
  absl::Notification first_returned;
  absl::Mutex mu;
  int count = 0;
  std::vector<Thread> threads;
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(
        Thread thread,
        Thread::Start("cancel", [&, i, ticket = Ticket(ticket)]() mutable {
          results[i] = ticket.Cancel();
          absl::MutexLock lock(&mu);
          if (++count == 1) first_returned.Notify();
        }));
    threads.push_back(std::move(thread));
  }
  // One of them has claimed the unit and waits for the probe; this is how the
  // other one knows that it is too late.
  first_returned.WaitForNotification();
  EXPECT_FALSE(a.done());
  probe.gate.Notify();
  for (Thread& thread : threads) thread.Join();
  EXPECT_NE(results[0], results[1]);
  EXPECT_THAT(a.Wait(), HasReason(v1::ErrorReason::CALLER_GONE));
  EXPECT_OK(b.Wait());
  EXPECT_THAT(executor_.Started(), ElementsAre("b"));
}

TEST_F(WithdrawalTest, CloseBetweenPermitAndDispatchWithdrawsTheUnit) {
  GatedProbe probe;
  StatusCatcher a, b;
  ASSERT_OK(executor_.Submit(*scheduler_, "a", a.Callback(),
                             {.caller_gone = probe.Probe(false)}));
  ASSERT_OK(executor_.Submit(*scheduler_, "b", b.Callback()));
  probe.entered.WaitForNotification();
  ASSERT_OK_AND_ASSIGN(Thread thread, Thread::Start("close", [&] {
                         scheduler_->Close(absl::UnavailableError("closed"));
                         EXPECT_TRUE(a.done());
                         EXPECT_TRUE(b.done());
                       }));
  // Closed once this is refused, and from then on "a" is withdrawn.
  while (scheduler_->Reserve().ok()) std::this_thread::yield();
  probe.gate.Notify();
  thread.Join();
  EXPECT_THAT(a.Wait(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(b.Wait(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(executor_.Started(), IsEmpty());
}

TEST_F(WithdrawalTest, DeadlineBetweenPermitAndDispatchWithdrawsTheUnit) {
  StatusCatcher a, b;
  ASSERT_OK(executor_.Submit(
      *scheduler_, "a", a.Callback(),
      {.deadline = clock_.Now() + absl::Seconds(1), .caller_gone = [this] {
         clock_.Advance(absl::Seconds(1));
         return true;  // The deadline is what counts.
       }}));
  ASSERT_OK(executor_.Submit(*scheduler_, "b", b.Callback()));
  EXPECT_THAT(a.Wait(), HasReason(v1::ErrorReason::DEADLINE_PASSED));
  EXPECT_OK(b.Wait());
  EXPECT_THAT(executor_.Started(), ElementsAre("b"));
}

// ---- Callers that are gone ----

TEST_F(WithdrawalTest, UnitOfAGoneCallerIsNotDispatched) {
  Hold("a");
  bool gone = false;
  StatusCatcher b, c;
  ASSERT_OK(executor_.Submit(*scheduler_, "b", b.Callback(),
                             {.caller_gone = [&gone] { return gone; }}));
  ASSERT_OK(executor_.Submit(*scheduler_, "c", c.Callback()));
  gone = true;
  executor_.ReleaseAll();
  EXPECT_THAT(b.Wait(), AllOf(StatusIs(absl::StatusCode::kCancelled),
                              HasReason(v1::ErrorReason::CALLER_GONE)));
  EXPECT_OK(c.Wait());
  EXPECT_THAT(executor_.Started(), ElementsAre("a", "c"));
}

TEST_F(WithdrawalTest, ProbeIsPolledOnceWithoutALockAndGoneWhenTheUnitRuns) {
  Hold("a");
  StatusCatcher b;
  auto token = std::shared_ptr<void>(
      nullptr, [this](void*) { executor_.Record("drop probe"); });
  ASSERT_OK(executor_.Submit(*scheduler_, "b", b.Callback(),
                             {.caller_gone = [this, token = std::move(token)] {
                               executor_.Record("poll");
                               EXPECT_EQ(scheduler_->stats().depth,
                                         1);  // Takes the lock.
                               return false;
                             }}));
  EXPECT_THAT(executor_.Events(), ElementsAre("start a"));
  executor_.ReleaseAll();
  EXPECT_OK(b.Wait());
  EXPECT_THAT(executor_.Events(),
              ElementsAre("start a", "end a", "drop a", "poll", "drop probe",
                          "start b", "end b", "drop b"));
}

TEST_F(WithdrawalTest, ProbeOfACancelledWaiterIsDestroyedUnpolled) {
  Hold("a");
  auto token = std::make_shared<int>(0);
  const std::weak_ptr<int> alive = token;
  bool polled = false;
  ASSERT_OK_AND_ASSIGN(
      Ticket ticket,
      executor_.Submit(*scheduler_, "b",
                       [&alive](const absl::StatusOr<int>&) {
                         EXPECT_TRUE(alive.expired());
                       },
                       {.caller_gone = [&polled, token = std::move(token)] {
                         return polled = true;
                       }}));
  EXPECT_TRUE(ticket.Cancel());
  StatusCatcher c;
  ASSERT_OK(executor_.Submit(*scheduler_, "c", c.Callback()));
  executor_.ReleaseAll();
  EXPECT_OK(c.Wait());
  EXPECT_FALSE(polled);
}

// ---- Deadlines ----

TEST_F(WithdrawalTest, DeadlineEndsAWaiterAtOnceAndNoOther) {
  Hold("a");
  const absl::Time now = clock_.Now();
  StatusCatcher late, soon, never, end;
  // The later one comes first: the earlier one must be looked at all the same.
  ASSERT_OK(executor_.Submit(*scheduler_, "late", late.Callback(),
                             {.deadline = now + absl::Seconds(10)}));
  ASSERT_OK(executor_.Submit(*scheduler_, "soon", soon.Callback(),
                             {.deadline = now + absl::Seconds(5)}));
  ASSERT_OK(executor_.Submit(*scheduler_, "never", never.Callback()));
  clock_.Advance(absl::Seconds(5));
  // "a" still runs.
  EXPECT_THAT(soon.Wait(), AllOf(StatusIs(absl::StatusCode::kDeadlineExceeded),
                                 HasReason(v1::ErrorReason::DEADLINE_PASSED)));
  EXPECT_FALSE(late.done());
  EXPECT_EQ(scheduler_->stats().depth, 3);
  executor_.ReleaseAll();
  EXPECT_OK(late.Wait());
  EXPECT_OK(never.Wait());
  EXPECT_THAT(executor_.Events(),
              ElementsAre("start a", "drop soon", "end a", "drop a",
                          "start late", "end late", "drop late", "start never",
                          "end never", "drop never"));
}

TEST_F(WithdrawalTest, DeadlineInThePastEndsAWaiterAtOnce) {
  Hold("a");
  StatusCatcher b;
  ASSERT_OK(executor_.Submit(*scheduler_, "b", b.Callback(),
                             {.deadline = clock_.Now()}));
  EXPECT_THAT(b.Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_OK(executor_.Submit(*scheduler_, "b", [](const auto&) {},
                             {.deadline = absl::InfinitePast()}));
  executor_.ReleaseAll();
  StatusCatcher c;
  ASSERT_OK(executor_.Submit(*scheduler_, "c", c.Callback()));
  EXPECT_OK(c.Wait());
  EXPECT_THAT(executor_.Started(), ElementsAre("a", "c"));
}

TEST_F(WithdrawalTest, ManyDeadlinesAtOnceEndAllOfTheirWaiters) {
  Hold("a");
  std::vector<StatusCatcher> caught(50);
  for (size_t i = 0; i < caught.size(); ++i) {
    ASSERT_OK(executor_.Submit(
        *scheduler_, "b", caught[i].Callback(),
        {.deadline = clock_.Now() + absl::Seconds(i * 7 % 10)}));
  }
  clock_.Advance(absl::Seconds(9));
  for (const StatusCatcher& c : caught) {
    EXPECT_THAT(c.Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
  EXPECT_EQ(executor_.LiveCaptures(), 1);
}

TEST_F(WithdrawalTest, DeadlineAfterDispatchChangesNothing) {
  StatusCatcher a, b;
  ASSERT_OK(
      executor_.SubmitGated(*scheduler_, "a", a.Callback(),
                            {.deadline = clock_.Now() + absl::Seconds(1)}));
  executor_.WaitUntilStarted("a");
  ASSERT_OK(executor_.Submit(*scheduler_, "b", b.Callback(),
                             {.deadline = clock_.Now() + absl::Seconds(2)}));
  clock_.Advance(absl::Seconds(2));
  // The one for deadlines has passed over "a" when it has ended "b".
  EXPECT_THAT(b.Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_FALSE(a.done());
  executor_.ReleaseAll();
  EXPECT_OK(a.Wait());
}

// ---- Close ----

TEST_F(WithdrawalTest, CloseEndsWaitersOldestFirstAndRefusesFromThenOn) {
  ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler_->Reserve());
  StatusCatcher a;
  ASSERT_OK(executor_.SubmitGated(*scheduler_, "a", a.Callback()));
  executor_.WaitUntilStarted("a");
  const absl::Status reason =
      RequestError(v1::ErrorReason::EXECUTOR_FAILED, "it broke");
  for (const char* name : {"b", "c"}) {
    ASSERT_OK(executor_.Submit(*scheduler_, name,
                               [&, name](const absl::StatusOr<int>& result) {
                                 executor_.Record(std::string("result ") +
                                                  name);
                                 EXPECT_EQ(result.status(), reason);
                               },
                               {.deadline = clock_.Now() + absl::Seconds(1)}));
  }
  scheduler_->Close(reason);
  scheduler_->Close(absl::CancelledError("the second reason does not count"));
  EXPECT_THAT(executor_.Events(), ElementsAre("start a", "drop b", "result b",
                                              "drop c", "result c"));
  EXPECT_EQ(scheduler_->Reserve().status(), reason);
  StatusCatcher d;
  EXPECT_EQ(scheduler_->Submit<int>(slot, executor_.Unit("d"), {}, d.Callback())
                .status(),
            reason);
  EXPECT_FALSE(d.done());
  EXPECT_EQ(executor_.LiveCaptures(), 1);
  clock_.Advance(absl::Seconds(1));  // Nobody is left whose deadline it is.
  executor_.ReleaseAll();
  EXPECT_OK(a.Wait());
  EXPECT_THAT(executor_.Started(), ElementsAre("a"));
}

TEST_F(WithdrawalTest, UnitCanCloseItsScheduler) {
  StatusCatcher a, b;
  absl::Notification submitted;
  ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler_->Reserve());
  ASSERT_OK(scheduler_->Submit<int>(
      slot,
      [&]() -> absl::StatusOr<int> {
        submitted.WaitForNotification();
        scheduler_->Close(absl::UnavailableError("failed"));
        EXPECT_TRUE(b.done());
        EXPECT_FALSE(a.done());
        return absl::DataLossError("why it failed");
      },
      {}, a.Callback()));
  ASSERT_OK(executor_.Submit(*scheduler_, "b", b.Callback()));
  submitted.Notify();
  EXPECT_THAT(a.Wait(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(b.Wait(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(executor_.Started(), IsEmpty());
}

}  // namespace
}  // namespace omni
