#include "runtime/scheduler/deadline_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// Drops blank tops, as whoever looks for the earliest item does.
absl::Time Earliest(DeadlineQueue& queue) {
  while (queue.TopIsBlank()) EXPECT_EQ(queue.PopTop(), nullptr);
  return queue.TopDeadline();
}

TEST(DeadlineQueueTest, EmptyQueueHasNoDeadline) {
  DeadlineQueue queue;
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.TopIsBlank());
  EXPECT_EQ(queue.TopDeadline(), absl::InfiniteFuture());
}

TEST(DeadlineQueueTest, RemovedItemLeavesABlankPlaceUntilItIsPopped) {
  DeadlineQueue queue;
  Deadline a(1), b(2), c(3);
  for (Deadline* d : {&c, &a, &b}) queue.Insert(d, d->time);
  queue.Remove(&a);
  EXPECT_FALSE(a.in_deadline_queue());
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.places(), 3u);
  EXPECT_TRUE(queue.TopIsBlank());
  EXPECT_EQ(queue.TopDeadline(), a.time);
  EXPECT_EQ(queue.PopTop(), nullptr);
  EXPECT_FALSE(queue.TopIsBlank());
  EXPECT_EQ(queue.TopDeadline(), b.time);
  queue.Remove(&c);
  EXPECT_EQ(queue.PopTop(), &b);
  EXPECT_FALSE(b.in_deadline_queue());
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(Earliest(queue), absl::InfiniteFuture());
}

constexpr size_t kMany = 100'000;

std::vector<Deadline> AscendingDeadlines() {
  std::vector<Deadline> all;
  all.reserve(kMany);
  for (size_t i = 0; i < kMany; ++i) all.emplace_back(i);
  return all;
}

TEST(DeadlineQueueTest, RemovingIsOneStepWhereverTheItemIs) {
  const struct {
    const char* name;
    size_t (*at)(size_t i);  // The i-th item to be removed.
  } orders[] = {
      {"from the front", [](size_t i) { return i; }},
      {"from the back", [](size_t i) { return kMany - 1 - i; }},
      {"from the middle",
       [](size_t i) {
         return i % 2 == 0 ? kMany / 2 + i / 2 : kMany / 2 - 1 - i / 2;
       }},
      {"from everywhere", [](size_t i) { return i * 7919 % kMany; }},
  };
  for (const auto& order : orders) {
    SCOPED_TRACE(order.name);
    DeadlineQueue queue;
    std::vector<Deadline> all = AscendingDeadlines();
    for (Deadline& d : all) queue.Insert(&d, d.time);
    // A place written, its parent looked at.
    EXPECT_LE(queue.steps(), 2 * kMany);
    for (size_t i = 0; i < kMany; ++i) {
      const uint64_t before = queue.steps();
      queue.Remove(&all[order.at(i)]);
      ASSERT_EQ(queue.steps() - before, 1u);
    }
    EXPECT_EQ(queue.size(), 0u);
  }
}

TEST(DeadlineQueueTest, SweepsCostEachInsertAConstantAndBoundThePlaces) {
  for (const size_t waiting : {size_t{1}, size_t{64}, size_t{10'000}}) {
    SCOPED_TRACE(waiting);
    DeadlineQueue queue;
    std::vector<Deadline> all = AscendingDeadlines();
    for (size_t i = 0; i < kMany; ++i) {
      if (i >= waiting) queue.Remove(&all[i - waiting]);
      queue.Insert(&all[i], all[i].time);
      ASSERT_LE(queue.places(), 2 * waiting + 64);
    }
    // Two for the insertion, one for the removal; a sweep takes at most five
    // for each place, which are two for each blank one.
    EXPECT_LE(queue.steps(), 13 * kMany);
  }
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
      Earliest(queue);
      auto* popped = static_cast<Deadline*>(queue.PopTop());
      const auto at = std::find(present.begin(), present.end(), popped);
      ASSERT_NE(at, present.end());
      for (const Deadline* d : present) ASSERT_LE(popped->time, d->time);
      present.erase(at);
    }
    ASSERT_EQ(queue.size(), present.size());
    absl::Time earliest = absl::InfiniteFuture();
    for (const Deadline* d : present) earliest = std::min(earliest, d->time);
    // Not always, so that blank tops stay for the other calls to meet.
    if (step % 3 == 0) {
      ASSERT_EQ(Earliest(queue), earliest);
    }
    ASSERT_LE(queue.TopDeadline(), earliest);
  }
}

}  // namespace
}  // namespace omni
