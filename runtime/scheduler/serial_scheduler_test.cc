#include "runtime/scheduler/serial_scheduler.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/fake_executor.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::FakeExecutor;
using ::omni::testing::StatusCatcher;
using ::omni::testing::StatusIs;
using ::testing::ElementsAre;

TEST(SerialSchedulerTest, CancelledWaiterIsNeverDispatched) {
  FakeExecutor executor;
  ASSERT_OK_AND_ASSIGN(auto scheduler, SerialScheduler::Create({}));
  StatusCatcher a, b, c;
  ASSERT_OK(executor.SubmitGated(*scheduler, "a", a.Callback()));
  ASSERT_OK_AND_ASSIGN(Ticket second,
                       executor.SubmitGated(*scheduler, "b", b.Callback()));
  ASSERT_OK(executor.SubmitGated(*scheduler, "c", c.Callback()));
  executor.WaitUntilStarted("a");
  EXPECT_TRUE(second.Cancel());
  EXPECT_THAT(b.Wait(), StatusIs(absl::StatusCode::kCancelled));
  executor.ReleaseAll();
  EXPECT_OK(c.Wait());  // Had b been dispatched, it would have started before.
  EXPECT_THAT(executor.Started(), ElementsAre("a", "c"));
}

}  // namespace
}  // namespace omni
