#include "runtime/scheduler/serial_scheduler.h"

#include <dirent.h>

#include <climits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/thread.h"
#include "runtime/testing/fake_clock.h"
#include "runtime/testing/fake_executor.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::FakeClock;
using ::omni::testing::FakeExecutor;
using ::omni::testing::HasReason;
using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusCatcher;
using ::omni::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

int ThreadsOfThisProcess() {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return -1;
  int count = 0;
  // Only one thread reads this directory.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// Makes schedulers on a clock that stands still.
class SerialSchedulerTest : public ::testing::Test {
 protected:
  // A scheduler waits for its running unit when it is destroyed.
  ~SerialSchedulerTest() override { executor_.ReleaseAll(); }

  // Lives as long as the test.
  std::shared_ptr<SerialScheduler> MakeScheduler(int max_pending = 64) {
    schedulers_.push_back(*SerialScheduler::Create(
        {.max_pending = max_pending, .clock = &clock_}));
    return schedulers_.back();
  }

  FakeClock clock_;
  FakeExecutor executor_;
  std::vector<std::shared_ptr<SerialScheduler>> schedulers_;
};

// ---- Start-up ----

TEST_F(SerialSchedulerTest, CapacityMustBeInRange) {
  for (const int bad : {0, -1, INT_MIN, 1'000'001, INT_MAX}) {
    EXPECT_THAT(SerialScheduler::Create({.max_pending = bad}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("max_pending is ", bad, ";"))));
  }
  for (const int good : {1, 64, 1'000'000}) {
    ASSERT_OK_AND_ASSIGN(auto scheduler,
                         SerialScheduler::Create({.max_pending = good}));
    EXPECT_EQ(scheduler->stats().capacity, good);
  }
  EXPECT_EQ(SerialScheduler::Options().max_pending, 64);
}

// ---- One at a time, in order ----

TEST_F(SerialSchedulerTest, UnitsRunOneAtATimeInTheOrderOfSubmission) {
  auto scheduler = MakeScheduler();
  executor_.SetResult("b", 20);
  executor_.SetResult("c", 30);
  StatusCatcher a, b, c;
  ASSERT_OK(executor_.SubmitGated(*scheduler, "a", a.Callback()));
  ASSERT_OK(executor_.SubmitGated(*scheduler, "b", b.Callback()));
  ASSERT_OK(executor_.SubmitGated(*scheduler, "c", c.Callback()));
  executor_.WaitUntilStarted("a");
  EXPECT_THAT(executor_.Started(), ElementsAre("a"));
  executor_.Release("a");
  executor_.WaitUntilStarted("b");
  EXPECT_THAT(executor_.Started(), ElementsAre("a", "b"));
  executor_.ReleaseAll();
  EXPECT_THAT(b.Wait(), IsOkAndHolds(20));
  EXPECT_THAT(c.Wait(), IsOkAndHolds(30));
  EXPECT_THAT(executor_.Started(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(executor_.MaxConcurrent(), 1);
}

TEST_F(SerialSchedulerTest, NewcomerDoesNotOvertakeAWaiterWhenThePermitIsFree) {
  auto scheduler = MakeScheduler();
  StatusCatcher b, newcomer;
  // Runs when the permit of "a" is free and "b" has not started.
  ASSERT_OK(
      executor_.SubmitGated(*scheduler, "a", [&](const absl::StatusOr<int>&) {
        EXPECT_THAT(executor_.Started(), ElementsAre("a"));
        EXPECT_OK(
            executor_.Submit(*scheduler, "newcomer", newcomer.Callback()));
      }));
  ASSERT_OK(executor_.Submit(*scheduler, "b", b.Callback()));
  executor_.ReleaseAll();
  EXPECT_OK(newcomer.Wait());
  EXPECT_THAT(executor_.Started(), ElementsAre("a", "b", "newcomer"));
}

TEST_F(SerialSchedulerTest, TenThousandWaitersKeepTheirOrder) {
  constexpr int kUnits = 10'000;
  auto scheduler = MakeScheduler(kUnits + 1);
  std::vector<int> ran, expected;
  StatusCatcher last;
  ASSERT_OK(executor_.SubmitGated(*scheduler, "first", [](const auto&) {}));
  std::vector<Ticket> tickets;
  for (int i = 0; i < kUnits; ++i) {
    ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler->Reserve());
    ASSERT_OK_AND_ASSIGN(Ticket ticket,
                         scheduler->Submit<int>(
                             slot,
                             [&ran, i]() -> absl::StatusOr<int> {
                               ran.push_back(i);
                               return i;
                             },
                             {}, [](const absl::StatusOr<int>&) {}));
    tickets.push_back(std::move(ticket));
  }
  for (int i = 0; i < kUnits; ++i) {
    if (i % 3 == 0) {
      EXPECT_TRUE(tickets[i].Cancel());
    } else {
      expected.push_back(i);
    }
  }
  ASSERT_OK(executor_.Submit(*scheduler, "last", last.Callback()));
  executor_.ReleaseAll();
  EXPECT_OK(last.Wait());
  EXPECT_EQ(ran, expected);
}

TEST_F(SerialSchedulerTest, UnitsRunOnOneThreadWhichIsNotTheCallers) {
  auto scheduler = MakeScheduler();
  std::vector<std::thread::id> ids;
  absl::Notification done;
  ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler->Reserve());
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(scheduler->Submit<int>(
        slot,
        [&ids]() -> absl::StatusOr<int> {
          ids.push_back(std::this_thread::get_id());
          return 0;
        },
        {},
        [&done, i](const absl::StatusOr<int>&) {
          if (i == 2) done.Notify();
        }));
  }
  done.WaitForNotification();
  ASSERT_THAT(ids, SizeIs(3));
  EXPECT_NE(ids[0], std::this_thread::get_id());
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0], ids[2]);
}

TEST_F(SerialSchedulerTest, WaitersHoldNoThread) {
  auto scheduler = MakeScheduler(1'001);
  ASSERT_OK(executor_.SubmitGated(*scheduler, "first", [](const auto&) {}));
  executor_.WaitUntilStarted("first");
  const int before = ThreadsOfThisProcess();
  ASSERT_GT(before, 0);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_OK(executor_.Submit(*scheduler, "waiter", [](const auto&) {},
                               {.deadline = clock_.Now() + absl::Hours(1)}));
  }
  EXPECT_EQ(ThreadsOfThisProcess(), before);
}

TEST_F(SerialSchedulerTest, CopiesShareOneQueue) {
  auto scheduler = MakeScheduler();
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::shared_ptr<SerialScheduler> copy = scheduler;
  StatusCatcher a, b;
  ASSERT_OK(executor_.SubmitGated(*scheduler, "a", a.Callback()));
  ASSERT_OK(executor_.Submit(*copy, "b", b.Callback()));
  executor_.WaitUntilStarted("a");
  EXPECT_THAT(executor_.Started(), ElementsAre("a"));
  EXPECT_EQ(scheduler->stats().depth, 2);
  executor_.ReleaseAll();
  EXPECT_OK(b.Wait());
  EXPECT_EQ(executor_.MaxConcurrent(), 1);
}

TEST_F(SerialSchedulerTest, SchedulersDoNotBlockEachOther) {
  auto held = MakeScheduler();
  auto other = MakeScheduler();
  StatusCatcher a, b;
  ASSERT_OK(executor_.SubmitGated(*held, "a", a.Callback()));
  executor_.WaitUntilStarted("a");
  ASSERT_OK(executor_.Submit(*other, "b", b.Callback()));
  EXPECT_OK(b.Wait());
  EXPECT_FALSE(a.done());
}

TEST_F(SerialSchedulerTest, AdmissionStaysOpenWhileAUnitRuns) {
  auto scheduler = MakeScheduler();
  ASSERT_OK(executor_.SubmitGated(*scheduler, "a", [](const auto&) {}));
  executor_.WaitUntilStarted("a");
  StatusCatcher b;
  ASSERT_OK_AND_ASSIGN(Ticket ticket,
                       executor_.Submit(*scheduler, "b", b.Callback()));
  EXPECT_EQ(scheduler->stats().depth, 2);
  EXPECT_TRUE(ticket.Cancel());
  EXPECT_TRUE(b.done());
  EXPECT_THAT(executor_.Events(), ElementsAre("start a", "drop b"));
}

TEST_F(SerialSchedulerTest, WorkWithoutADeadlineNeverTimesOut) {
  auto scheduler = MakeScheduler();
  StatusCatcher a, b;
  ASSERT_OK(executor_.SubmitGated(*scheduler, "a", a.Callback()));
  ASSERT_OK(executor_.Submit(*scheduler, "b", b.Callback()));
  executor_.WaitUntilStarted("a");
  clock_.Advance(absl::Hours(24 * 365));
  executor_.ReleaseAll();
  EXPECT_OK(a.Wait());
  EXPECT_OK(b.Wait());
}

// ---- Completion ----

TEST_F(SerialSchedulerTest, CapturesThenPermitThenResult) {
  const struct {
    const char* name;
    bool throws;
  } cases[] = {{"returns", false}, {"throws", true}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    FakeExecutor executor;
    auto scheduler = MakeScheduler(/*max_pending=*/2);
    if (c.throws) executor.SetThrows("a");
    StatusCatcher b;
    ASSERT_OK(
        executor.SubmitGated(*scheduler, "a", [&](const absl::StatusOr<int>&) {
          executor.Record("result a");
          // The permit and the place are free: the caller can go on.
          EXPECT_EQ(scheduler->stats().units_run, 1u);
          EXPECT_EQ(scheduler->stats().depth, 1);
          EXPECT_OK(scheduler->Reserve());
        }));
    ASSERT_OK(executor.Submit(*scheduler, "b", b.Callback()));
    executor.ReleaseAll();
    EXPECT_THAT(b.Wait().status(), StatusIs(absl::StatusCode::kOk));
    EXPECT_THAT(executor.Events(),
                ElementsAre("start a", "end a", "drop a", "result a", "start b",
                            "end b", "drop b"));
    EXPECT_EQ(executor.LiveCaptures(), 0);
  }
}

TEST_F(SerialSchedulerTest,
       CallbackIsDestroyedWithTheUnitAlthoughATicketLives) {
  auto scheduler = MakeScheduler();
  auto token = std::make_shared<int>(0);
  const std::weak_ptr<int> alive = token;
  StatusCatcher b;
  ASSERT_OK_AND_ASSIGN(Ticket ticket,
                       executor_.Submit(*scheduler, "a",
                                        [token = std::move(token)](
                                            const absl::StatusOr<int>&) {}));
  ASSERT_OK(executor_.Submit(*scheduler, "b", b.Callback()));
  EXPECT_OK(b.Wait());
  EXPECT_TRUE(alive.expired());
  EXPECT_FALSE(ticket.Cancel());
}

TEST_F(SerialSchedulerTest, PermitIsStillHeldWhenCapturesAreDestroyed) {
  auto scheduler = MakeScheduler(/*max_pending=*/1);
  SchedulerStats at_destruction;
  auto captured = std::shared_ptr<void>(
      nullptr, [&](void*) { at_destruction = scheduler->stats(); });
  StatusCatcher a;
  ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler->Reserve());
  ASSERT_OK(scheduler->Submit<int>(
      std::move(slot),
      [captured = std::move(captured)]() -> absl::StatusOr<int> { return 1; },
      {}, a.Callback()));
  EXPECT_OK(a.Wait());
  EXPECT_EQ(at_destruction.units_run, 0u);
  EXPECT_EQ(at_destruction.depth, 1);
  EXPECT_EQ(scheduler->stats().units_run, 1u);
  EXPECT_EQ(scheduler->stats().depth, 0);
}

TEST_F(SerialSchedulerTest, ErrorReachesTheCallerUnchanged) {
  auto scheduler = MakeScheduler();
  absl::Status error = absl::DataLossError("the device says no");
  error.SetPayload("url", absl::Cord("payload"));
  executor_.SetResult("a", error);
  StatusCatcher a, b;
  ASSERT_OK(executor_.Submit(*scheduler, "a", a.Callback()));
  ASSERT_OK(executor_.Submit(*scheduler, "b", b.Callback()));
  EXPECT_EQ(a.Wait().status(), error);
  EXPECT_OK(b.Wait());
}

TEST_F(SerialSchedulerTest, ExceptionBecomesAnErrorAndTheNextUnitRuns) {
  auto scheduler = MakeScheduler();
  executor_.SetThrows("a");
  StatusCatcher a, not_std, b;
  ASSERT_OK(executor_.Submit(*scheduler, "a", a.Callback()));
  ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler->Reserve());
  ASSERT_OK(scheduler->Submit<int>(
      slot, []() -> absl::StatusOr<int> { throw 7; }, {}, not_std.Callback()));
  ASSERT_OK(executor_.Submit(*scheduler, "b", b.Callback()));
  EXPECT_THAT(a.Wait(), StatusIs(absl::StatusCode::kInternal,
                                 std::string("execution task failed")));
  EXPECT_THAT(not_std.Wait(), StatusIs(absl::StatusCode::kInternal,
                                       std::string("execution task failed")));
  EXPECT_OK(b.Wait());
}

TEST_F(SerialSchedulerTest, ResultsNeedOnlyBeMovable) {
  auto scheduler = MakeScheduler();
  ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler->Reserve());
  int seen = 0;
  absl::Notification done;
  ASSERT_OK(scheduler->Submit<std::unique_ptr<int>>(
      slot,
      []() -> absl::StatusOr<std::unique_ptr<int>> {
        return std::make_unique<int>(7);
      },
      {},
      [&](absl::StatusOr<std::unique_ptr<int>> result) {
        seen = **result;
        done.Notify();
      }));
  done.WaitForNotification();
  EXPECT_EQ(seen, 7);
}

// ---- Places ----

TEST_F(SerialSchedulerTest, FullQueueRefusesAtOnceAndAcceptsAfterRelease) {
  auto scheduler = MakeScheduler(/*max_pending=*/2);
  StatusCatcher a, b, c;
  ASSERT_OK(executor_.SubmitGated(*scheduler, "a", a.Callback()));
  ASSERT_OK(executor_.SubmitGated(*scheduler, "b", b.Callback()));
  executor_.WaitUntilStarted("a");
  const absl::Status refused = scheduler->Reserve().status();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(refused, HasReason(v1::ErrorReason::QUEUE_FULL));
  const auto info = ErrorInfoOf(refused);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->metadata().at("limit"), "2");
  EXPECT_EQ(info->metadata().at("actual"), "3");
  EXPECT_EQ(scheduler->stats().refused, 1u);
  EXPECT_EQ(scheduler->stats().depth, 2);
  executor_.Release("a");
  EXPECT_OK(a.Wait());
  ASSERT_OK(executor_.Submit(*scheduler, "c", c.Callback()));
  executor_.ReleaseAll();
  EXPECT_OK(c.Wait());
  EXPECT_THAT(executor_.Started(), ElementsAre("a", "b", "c"));
}

TEST_F(SerialSchedulerTest, DispatchedUnitOfAGoneCallerStillHoldsItsPlace) {
  auto scheduler = MakeScheduler(/*max_pending=*/1);
  StatusCatcher a;
  {
    ASSERT_OK_AND_ASSIGN(Ticket ticket,
                         executor_.SubmitGated(*scheduler, "a", a.Callback()));
    executor_.WaitUntilStarted("a");
    EXPECT_FALSE(ticket.Cancel());
  }
  EXPECT_THAT(scheduler->Reserve(), HasReason(v1::ErrorReason::QUEUE_FULL));
  executor_.ReleaseAll();
  EXPECT_OK(a.Wait());
  EXPECT_OK(scheduler->Reserve());
}

TEST_F(SerialSchedulerTest, RequestHoldsOnePlaceForAllOfItsUnits) {
  auto scheduler = MakeScheduler(/*max_pending=*/1);
  std::optional<RequestSlot> slot;
  {
    ASSERT_OK_AND_ASSIGN(RequestSlot reserved, scheduler->Reserve());
    slot = reserved;
  }
  for (const char* name : {"a", "b"}) {
    StatusCatcher caught;
    ASSERT_OK(scheduler->Submit<int>(*slot, executor_.Unit(name), {},
                                     caught.Callback()));
    EXPECT_OK(caught.Wait());
    EXPECT_THAT(scheduler->Reserve(), HasReason(v1::ErrorReason::QUEUE_FULL));
    EXPECT_EQ(scheduler->stats().depth, 1);
  }
  slot.reset();
  EXPECT_EQ(scheduler->stats().depth, 0);
  EXPECT_OK(scheduler->Reserve());
}

TEST_F(SerialSchedulerTest, WithdrawnWaiterGivesItsPlaceBackAtOnce) {
  auto scheduler = MakeScheduler(/*max_pending=*/2);
  ASSERT_OK(executor_.SubmitGated(*scheduler, "a", [](const auto&) {}));
  executor_.WaitUntilStarted("a");
  int depth_in_callback = -1;
  ASSERT_OK_AND_ASSIGN(
      Ticket ticket,
      executor_.Submit(*scheduler, "b", [&](const absl::StatusOr<int>&) {
        depth_in_callback = scheduler->stats().depth;
      }));
  EXPECT_EQ(scheduler->stats().depth, 2);
  EXPECT_TRUE(ticket.Cancel());
  EXPECT_EQ(depth_in_callback, 1);
  EXPECT_OK(scheduler->Reserve());
}

TEST_F(SerialSchedulerTest, StatsAddUpWaitingAndRunning) {
  auto scheduler = MakeScheduler();
  StatusCatcher a, b, withdrawn;
  ASSERT_OK(executor_.SubmitGated(*scheduler, "a", a.Callback()));
  executor_.WaitUntilStarted("a");
  ASSERT_OK(executor_.SubmitGated(*scheduler, "b", b.Callback()));
  ASSERT_OK_AND_ASSIGN(Ticket ticket, executor_.Submit(*scheduler, "withdrawn",
                                                       withdrawn.Callback()));
  clock_.Advance(absl::Seconds(3));
  EXPECT_TRUE(ticket.Cancel());
  executor_.Release("a");
  executor_.WaitUntilStarted("b");
  clock_.Advance(absl::Seconds(4));
  executor_.Release("b");
  EXPECT_OK(b.Wait());
  const SchedulerStats stats = scheduler->stats();
  EXPECT_EQ(stats.units_run, 2u);
  EXPECT_EQ(stats.wait_time, absl::Seconds(3));
  EXPECT_EQ(stats.run_time, absl::Seconds(7));
  EXPECT_EQ(stats.depth, 0);
  EXPECT_EQ(stats.capacity, 64);
  EXPECT_EQ(stats.refused, 0u);
}

// ---- The end ----

TEST_F(SerialSchedulerTest, DestructorEndsWaitersAndWaitsForTheRunningUnit) {
  auto scheduler = MakeScheduler();
  StatusCatcher a, b;
  ASSERT_OK(executor_.SubmitGated(
      *scheduler, "a", [&, done = a.Callback()](absl::StatusOr<int> r) mutable {
        executor_.Record("result a");
        std::move(done)(std::move(r));
      }));
  ASSERT_OK_AND_ASSIGN(Ticket ticket,
                       executor_.Submit(*scheduler, "b", b.Callback()));
  ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler->Reserve());
  executor_.WaitUntilStarted("a");
  ASSERT_OK_AND_ASSIGN(Thread thread, Thread::Start("destroyer", [&] {
                         schedulers_.clear();
                         scheduler.reset();
                         executor_.Record("destroyed");
                       }));
  EXPECT_THAT(b.Wait(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_FALSE(a.done());
  executor_.Release("a");
  EXPECT_OK(a.Wait());
  thread.Join();
  EXPECT_THAT(executor_.Events(),
              ElementsAre("start a", "drop b", "end a", "drop a", "result a",
                          "destroyed"));
  EXPECT_FALSE(ticket.Cancel());  // Tickets and slots may live on.
}

TEST_F(SerialSchedulerTest, IdleSchedulerIsDestroyed) {
  auto scheduler = MakeScheduler();
  const int with = ThreadsOfThisProcess();
  schedulers_.clear();
  scheduler.reset();
  EXPECT_EQ(ThreadsOfThisProcess(), with - 2);
}

}  // namespace
}  // namespace omni
