#include "runtime/base/thread.h"

#include <pthread.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

TEST(ThreadTest, RunsUnderItsNameCutToFifteenBytes) {
  std::string name;
  ASSERT_OK_AND_ASSIGN(
      Thread thread, Thread::Start("a-name-that-is-too-long", [&name] {
        char buffer[16] = "";
        pthread_getname_np(pthread_self(), buffer, sizeof(buffer));
        name = buffer;
      }));
  thread.Join();
  EXPECT_EQ(name, "a-name-that-is-");
}

TEST(ThreadTest, JoinsWhenDestroyed) {
  absl::Notification go;
  bool ended = false;
  {
    ASSERT_OK_AND_ASSIGN(Thread thread, Thread::Start("t", [&] {
                           go.WaitForNotification();
                           ended = true;
                         }));
    go.Notify();
  }
  EXPECT_TRUE(ended);
}

TEST(ThreadTest, JoinsWhenAssignedTo) {
  bool first_ended = false;
  ASSERT_OK_AND_ASSIGN(Thread thread,
                       Thread::Start("t", [&] { first_ended = true; }));
  thread = Thread();
  EXPECT_TRUE(first_ended);
}

TEST(ThreadTest, DestroysTheBodyBeforeJoinReturns) {
  auto captured = std::make_shared<int>(0);
  std::weak_ptr<int> alive = captured;
  ASSERT_OK_AND_ASSIGN(Thread thread,
                       Thread::Start("t", [captured = std::move(captured)] {}));
  thread.Join();
  EXPECT_TRUE(alive.expired());
}

TEST(ThreadDeathTest, CannotJoinItself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Thread thread;
        absl::Notification assigned;
        auto started = Thread::Start("t", [&] {
          assigned.WaitForNotification();
          thread.Join();
        });
        thread = *std::move(started);
        assigned.Notify();
        absl::Notification().WaitForNotification();
      },
      "cannot wait for its own end");
}

}  // namespace
}  // namespace omni
