#include "runtime/base/clock.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace omni {
namespace {

TEST(ClockTest, RealClockShowsTheSystemsTime) {
  const absl::Time before = absl::Now();
  const absl::Time now = Clock::Real()->Now();
  const absl::Time after = absl::Now();
  EXPECT_GE(now, before);
  EXPECT_LE(now, after);
}

TEST(ClockTest, RealWaitEndsWhenTheDeadlineHasCome) {
  const absl::Time deadline = absl::Now() + absl::Milliseconds(5);
  bool never = false;
  absl::Mutex mu;
  absl::MutexLock lock(&mu);
  Clock::Real()->AwaitUntil(&mu, absl::Condition(&never), deadline);
  EXPECT_GE(absl::Now(), deadline);
}

TEST(ClockTest, RealWaitEndsWhenTheConditionHolds) {
  bool always = true;
  absl::Mutex mu;
  absl::MutexLock lock(&mu);
  Clock::Real()->AwaitUntil(&mu, absl::Condition(&always),
                            absl::InfiniteFuture());
  mu.AssertHeld();
}

}  // namespace
}  // namespace omni
