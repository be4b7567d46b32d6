// What a waiting unit costs in bytes.

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/scheduler/serial_scheduler.h"
#include "runtime/testing/allocated_bytes.h"
#include "runtime/testing/fake_clock.h"
#include "runtime/testing/fake_executor.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

TEST(WaiterMemoryTest, WaiterTakesLessThan400BytesAtAnyTime) {
  // Nearly twice the room for deadlines that so many need: the vector of them
  // has just grown.
  constexpr int kWaiters = 8'200;
  omni::testing::FakeClock clock;
  omni::testing::FakeExecutor executor;
  ASSERT_OK_AND_ASSIGN(
      const std::shared_ptr<SerialScheduler> scheduler,
      SerialScheduler::Create({.max_pending = kWaiters + 1, .clock = &clock}));
  ASSERT_OK(executor.SubmitGated(*scheduler, "a", [](const auto&) {}));
  executor.WaitUntilStarted("a");

  const int64_t before = omni::testing::AllocatedBytes();
  omni::testing::ResetPeakAllocatedBytes();
  for (int i = 0; i < kWaiters; ++i) {
    // The slot, a deadline and a probe, as in the server.
    ASSERT_OK_AND_ASSIGN(RequestSlot slot, scheduler->Reserve());
    ASSERT_OK(scheduler->Submit<int>(
        slot, []() -> absl::StatusOr<int> { return 0; },
        {.deadline = clock.Now() + absl::Seconds(1 + i),
         .caller_gone = [] { return false; }},
        [](const absl::StatusOr<int>&) {}));
  }
  const int64_t bytes = omni::testing::PeakAllocatedBytes() - before;
  executor.ReleaseAll();
  EXPECT_LT(bytes, int64_t{400} * kWaiters);
  // Otherwise nothing was counted.
  EXPECT_GT(bytes, int64_t{100} * kWaiters);
}

}  // namespace
}  // namespace omni
