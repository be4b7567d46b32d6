#include "runtime/testing/fake_clock.h"

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/thread.h"
#include "runtime/testing/status_matchers.h"

namespace omni::testing {
namespace {

// A thread that waits until `deadline` on `clock`, for a condition that only
// `satisfied` makes true.
struct Waiter {
  Waiter(const FakeClock& clock, absl::Time deadline)
      : thread(*Thread::Start("waiter", [this, &clock, deadline] {
          absl::MutexLock lock(&mu);
          entered = true;
          while (!satisfied && clock.Now() < deadline) {
            clock.AwaitUntil(&mu, absl::Condition(&satisfied), deadline);
          }
          ended_at = clock.Now();
          left = true;
        })) {}

  absl::Mutex mu;
  bool entered = false;
  bool satisfied = false;
  bool left = false;
  absl::Time ended_at;
  Thread thread;
};

TEST(FakeClockTest, StandsStillUntilAdvanced) {
  FakeClock clock(absl::FromUnixSeconds(5));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(5));
  clock.Advance(absl::Milliseconds(1500));
  EXPECT_EQ(clock.Now(), absl::FromUnixMillis(6500));
}

TEST(FakeClockTest, WaitEndsAtItsDeadlineAndNotBefore) {
  FakeClock clock;
  Waiter waiter(clock, absl::FromUnixSeconds(10));
  {
    absl::MutexLock lock(&waiter.mu);
    waiter.mu.Await(absl::Condition(&waiter.entered));
  }
  clock.Advance(absl::Seconds(9));
  clock.Advance(absl::Seconds(1));
  waiter.thread.Join();
  EXPECT_EQ(waiter.ended_at, absl::FromUnixSeconds(10));
}

TEST(FakeClockTest, WaitEndsWhenItsConditionHolds) {
  FakeClock clock;
  Waiter waiter(clock, absl::InfiniteFuture());
  {
    absl::MutexLock lock(&waiter.mu);
    waiter.mu.Await(absl::Condition(&waiter.entered));
    EXPECT_FALSE(waiter.left);
    waiter.satisfied = true;
  }
  waiter.thread.Join();
  EXPECT_EQ(waiter.ended_at, absl::UnixEpoch());
}

TEST(FakeClockTest, WaitForAPastTimeEndsAtOnce) {
  FakeClock clock(absl::FromUnixSeconds(5));
  bool never = false;
  absl::Mutex mu;
  absl::MutexLock lock(&mu);
  clock.AwaitUntil(&mu, absl::Condition(&never), absl::FromUnixSeconds(5));
  mu.AssertHeld();
}

}  // namespace
}  // namespace omni::testing
