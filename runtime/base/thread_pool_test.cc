#include "runtime/base/thread_pool.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::StatusIs;
using ::testing::ElementsAre;

TEST(ThreadPoolTest, RefusesToHaveNoThread) {
  EXPECT_THAT(ThreadPool::Create("pool", 0),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ThreadPool::Create("pool", -1),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ThreadPoolTest, OneThreadRunsTasksInOrder) {
  ASSERT_OK_AND_ASSIGN(auto pool, ThreadPool::Create("pool", 1));
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    pool->Post([&order, i] { order.push_back(i); });
  }
  pool->Join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(ThreadPoolTest, TasksRunAtTheSameTime) {
  ASSERT_OK_AND_ASSIGN(auto pool, ThreadPool::Create("pool", 2));
  // Each task waits for the other one to have started.
  absl::Notification first;
  absl::Notification second;
  pool->Post([&] {
    first.Notify();
    second.WaitForNotification();
  });
  pool->Post([&] {
    second.Notify();
    first.WaitForNotification();
  });
  pool->Join();
}

TEST(ThreadPoolTest, JoinRunsWhatTasksPost) {
  ASSERT_OK_AND_ASSIGN(auto pool, ThreadPool::Create("pool", 2));
  absl::Notification joining;
  bool ran = false;
  pool->Post([&] {
    joining.WaitForNotification();
    pool->Post([&ran] { ran = true; });
  });
  joining.Notify();
  pool->Join();
  EXPECT_TRUE(ran);
}

TEST(ThreadPoolTest, ATaskIsDestroyedWhenItHasReturned) {
  ASSERT_OK_AND_ASSIGN(auto pool, ThreadPool::Create("pool", 1));
  auto captured = std::make_shared<int>(7);
  std::weak_ptr<int> watch = captured;
  bool gone = false;
  pool->Post([captured = std::move(captured)] { EXPECT_EQ(*captured, 7); });
  pool->Post([&] { gone = watch.expired(); });
  pool->Join();
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace omni
