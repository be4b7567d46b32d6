#include "runtime/scheduler/deadline_queue.h"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace omni {
namespace {

struct Deadline : DeadlineQueue::Item {
  explicit Deadline(int64_t seconds) : time(absl::FromUnixSeconds(seconds)) {}
  absl::Time time;
};

TEST(DeadlineQueueTest, EmptyQueueHasNoDeadline) {
  DeadlineQueue queue;
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.Earliest(), absl::InfiniteFuture());
}

TEST(DeadlineQueueTest, RemovedItemIsGoneAtOnce) {
  DeadlineQueue queue;
  Deadline a(1), b(2), c(3);
  for (Deadline* d : {&c, &a, &b}) queue.Insert(d, d->time);
  queue.Remove(&a);
  EXPECT_FALSE(a.in_deadline_queue());
  EXPECT_EQ(queue.Earliest(), b.time);
  queue.Remove(&c);
  EXPECT_EQ(queue.PopEarliest(), &b);
  EXPECT_EQ(queue.Earliest(), absl::InfiniteFuture());
}

TEST(DeadlineQueueTest, AgreesWithASortedListUnderRandomUse) {
  std::mt19937 random(1);
  DeadlineQueue queue;
  std::deque<Deadline> all;
  std::vector<Deadline*> present;  // In no order.
  for (int step = 0; step < 20'000; ++step) {
    // Grows and shrinks by turns, so that sweeps happen.
    const bool growing = step / 2'000 % 2 == 0;
    const uint32_t dice = random() % 10;
    if (present.empty() || dice < (growing ? 7u : 2u)) {
      all.emplace_back(static_cast<int64_t>(random() % 1'000));
      present.push_back(&all.back());
      queue.Insert(present.back(), present.back()->time);
    } else if (dice < 9) {
      std::swap(present[random() % present.size()], present.back());
      queue.Remove(present.back());
      present.pop_back();
    } else {
      auto* popped = static_cast<Deadline*>(queue.PopEarliest());
      const auto at = std::find(present.begin(), present.end(), popped);
      ASSERT_NE(at, present.end());
      for (const Deadline* d : present) ASSERT_LE(popped->time, d->time);
      present.erase(at);
    }
    ASSERT_EQ(queue.size(), present.size());
    absl::Time earliest = absl::InfiniteFuture();
    for (const Deadline* d : present) earliest = std::min(earliest, d->time);
    ASSERT_EQ(queue.Earliest(), earliest);
  }
}

}  // namespace
}  // namespace omni
