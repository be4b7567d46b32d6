// Everything at once: submissions, cancellations, deadlines, callers that are
// gone, exceptions and the end of the scheduler, from several threads.

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/thread.h"
#include "runtime/scheduler/serial_scheduler.h"
#include "runtime/testing/fake_clock.h"
#include "runtime/testing/fake_executor.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::FakeClock;
using ::omni::testing::StatusCatcher;

constexpr int kThreads = 3;
constexpr int kUnitsOfAThread = 300;

// What became of one unit.
struct Fate {
  std::atomic<int> runs{0};
  std::atomic<int> results{0};
  std::atomic<bool> cancelled{false};  // A Cancel said true.
  std::atomic<bool> result_is_of_run{false};
};

// What all units share.
struct World {
  FakeClock clock;
  std::atomic<int> live{0};  // Units whose captures exist.
  std::atomic<int> running{0};
  std::atomic<int> max_running{0};
  absl::Notification halfway;  // Thread 0 has submitted half of its units.
  std::vector<Fate> fates{kThreads * kUnitsOfAThread};
};

// Captured by each unit.
struct Live {
  explicit Live(World* world) : world(world) { ++world->live; }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;
  ~Live() { --world->live; }
  World* const world;
};

absl::StatusOr<int> RunUnit(World& world, Fate& fate, uint32_t kind) {
  world.max_running = std::max(world.max_running.load(), ++world.running);
  ++fate.runs;
  --world.running;
  if (kind == 0) throw std::runtime_error("thrown");
  return 1;
}

// Submits units, and cancels some of them: the last one at once, so that the
// hand-over of the permit is hit, and older ones.
void UseScheduler(World& world, SerialScheduler& scheduler, int thread) {
  std::mt19937 random(thread);
  std::vector<std::pair<Ticket, Fate*>> tickets;
  for (int i = 0; i < kUnitsOfAThread; ++i) {
    if (thread == 0 && i == kUnitsOfAThread / 2) world.halfway.Notify();
    Fate& fate = world.fates[thread * kUnitsOfAThread + i];
    const uint32_t kind = random() % 8;
    auto slot = scheduler.Reserve();
    if (!slot.ok()) {    // Closed.
      fate.results = 1;  // Counts as ended.
      continue;
    }
    SubmitOptions options;
    if (kind % 2 == 0) {
      options.deadline = world.clock.Now() + absl::Microseconds(random() % 50);
    }
    if (kind == 3) options.caller_gone = [] { return true; };
    if (kind == 4) options.caller_gone = [] { return false; };
    auto ticket = scheduler.Submit<int>(
        *std::move(slot),
        [&world, &fate, kind, live = std::make_unique<Live>(&world)] {
          return RunUnit(world, fate, kind);
        },
        std::move(options),
        [&fate](const absl::StatusOr<int>& result) {
          fate.result_is_of_run =
              result.ok() || absl::IsInternal(result.status());
          ++fate.results;
        });
    if (!ticket.ok()) {
      fate.results = 1;
      continue;
    }
    tickets.emplace_back(*std::move(ticket), &fate);
    if (random() % 3 == 0) {
      std::swap(tickets.back(), tickets[random() % tickets.size()]);
    }
    if (random() % 2 == 0) {
      if (tickets.back().first.Cancel()) {
        tickets.back().second->cancelled = true;
      }
    }
    if (random() % 4 == 0) world.clock.Advance(absl::Microseconds(10));
  }
}

void CheckFates(const World& world) {
  EXPECT_EQ(world.live, 0);
  EXPECT_LE(world.max_running, 1);
  for (const Fate& fate : world.fates) {
    EXPECT_EQ(fate.results, 1);
    EXPECT_LE(fate.runs, 1);
    EXPECT_EQ(fate.runs == 1, fate.result_is_of_run);
    EXPECT_FALSE(fate.cancelled && fate.runs > 0);
  }
}

TEST(SchedulerStressTest, EveryUnitEndsOnceAndThePermitIsNeverLost) {
  World world;
  ASSERT_OK_AND_ASSIGN(
      auto scheduler,
      SerialScheduler::Create({.max_pending = 1'000, .clock = &world.clock}));
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    ASSERT_OK_AND_ASSIGN(Thread thread, Thread::Start("user", [&, t] {
                           UseScheduler(world, *scheduler, t);
                         }));
    threads.push_back(std::move(thread));
  }
  for (Thread& thread : threads) thread.Join();
  ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler->Reserve());
  StatusCatcher last;
  ASSERT_OK(scheduler->Submit<int>(
      std::move(slot), []() -> absl::StatusOr<int> { return 7; }, {},
      last.Callback()));
  EXPECT_OK(last.Wait());
  EXPECT_EQ(scheduler->stats().depth, 0);
  scheduler.reset();
  CheckFates(world);
}

TEST(SchedulerStressTest, EveryUnitEndsOnceWhenTheSchedulerIsClosedMeanwhile) {
  World world;
  ASSERT_OK_AND_ASSIGN(
      auto scheduler,
      SerialScheduler::Create({.max_pending = 1'000, .clock = &world.clock}));
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    ASSERT_OK_AND_ASSIGN(Thread thread, Thread::Start("user", [&, t] {
                           UseScheduler(world, *scheduler, t);
                         }));
    threads.push_back(std::move(thread));
  }
  // Some are through, some wait, some are still to come.
  world.halfway.WaitForNotification();
  scheduler->Close(absl::UnavailableError("closed"));
  for (Thread& thread : threads) thread.Join();
  scheduler.reset();
  CheckFates(world);
}

}  // namespace
}  // namespace omni
