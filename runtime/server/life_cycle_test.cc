#include "runtime/server/life_cycle.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr v1::WorkerState kLoading = v1::WORKER_STATE_LOADING;
constexpr v1::WorkerState kWarming = v1::WORKER_STATE_WARMING;
constexpr v1::WorkerState kReady = v1::WORKER_STATE_READY;
constexpr v1::WorkerState kDraining = v1::WORKER_STATE_DRAINING;
constexpr v1::WorkerState kFailed = v1::WORKER_STATE_FAILED;
constexpr v1::WorkerState kStopped = v1::WORKER_STATE_STOPPED;

// Brings a new life cycle to `state`.
void Reach(LifeCycle& life_cycle, v1::WorkerState state) {
  if (state == kFailed) {
    life_cycle.Fail("broken");
    return;
  }
  for (const v1::WorkerState step : {kWarming, kReady, kDraining, kStopped}) {
    if (life_cycle.state() == state) return;
    ASSERT_OK(life_cycle.MoveTo(step));
  }
}

TEST(LifeCycleTest, TakesLegalStepsOnly) {
  const struct {
    v1::WorkerState from;
    std::vector<v1::WorkerState> to;
  } cases[] = {
      {kLoading, {kWarming, kStopped}},
      {kWarming, {kReady, kStopped}},
      {kReady, {kDraining}},
      {kDraining, {kStopped}},
      {kFailed, {kStopped}},
      {kStopped, {}},
  };
  for (const auto& c : cases) {
    for (const v1::WorkerState to :
         {v1::WORKER_STATE_UNSPECIFIED, kLoading, kWarming, kReady, kDraining,
          kFailed, kStopped}) {
      SCOPED_TRACE(v1::WorkerState_Name(c.from) + " to " +
                   v1::WorkerState_Name(to));
      LifeCycle life_cycle;
      Reach(life_cycle, c.from);
      ASSERT_EQ(life_cycle.state(), c.from);
      if (std::find(c.to.begin(), c.to.end(), to) != c.to.end()) {
        EXPECT_OK(life_cycle.MoveTo(to));
        EXPECT_EQ(life_cycle.state(), to);
      } else {
        EXPECT_THAT(life_cycle.MoveTo(to),
                    StatusIs(absl::StatusCode::kFailedPrecondition));
        EXPECT_EQ(life_cycle.state(), c.from);
      }
    }
  }
}

TEST(LifeCycleTest, FailsFromEveryStateBeforeTheLast) {
  for (const v1::WorkerState from : {kLoading, kWarming, kReady, kDraining}) {
    SCOPED_TRACE(v1::WorkerState_Name(from));
    LifeCycle life_cycle;
    Reach(life_cycle, from);
    EXPECT_THAT(life_cycle.failure(), IsEmpty());
    life_cycle.Fail("device lost");
    EXPECT_EQ(life_cycle.state(), kFailed);
    EXPECT_EQ(life_cycle.failure(), "device lost");
  }
}

TEST(LifeCycleTest, KeepsTheFirstFailure) {
  LifeCycle life_cycle;
  life_cycle.Fail("first");
  life_cycle.Fail("second");
  EXPECT_EQ(life_cycle.failure(), "first");
}

TEST(LifeCycleTest, DoesNotFailOnceStopped) {
  LifeCycle life_cycle;
  Reach(life_cycle, kStopped);
  life_cycle.Fail("too late");
  EXPECT_EQ(life_cycle.state(), kStopped);
  EXPECT_THAT(life_cycle.failure(), IsEmpty());
}

TEST(LifeCycleTest, CutsALongFailure) {
  LifeCycle life_cycle;
  life_cycle.Fail(std::string(5000, 'x'));
  EXPECT_EQ(life_cycle.failure(), std::string(1024, 'x'));
}

TEST(LifeCycleTest, TellsTheWatcherEveryChangeInOrder) {
  LifeCycle life_cycle;
  std::vector<v1::WorkerState> seen;
  life_cycle.Watch([&seen](v1::WorkerState state) { seen.push_back(state); });
  ASSERT_OK(life_cycle.MoveTo(kWarming));
  ASSERT_OK(life_cycle.MoveTo(kReady));
  EXPECT_FALSE(life_cycle.MoveTo(kWarming).ok());
  life_cycle.Fail("broken");
  life_cycle.Fail("again");
  EXPECT_THAT(seen, ElementsAre(kLoading, kWarming, kReady, kFailed));
  life_cycle.Watch(nullptr);
  ASSERT_OK(life_cycle.MoveTo(kStopped));
  EXPECT_EQ(seen.size(), 4u);
}

}  // namespace
}  // namespace omni
