#include "workers/model/ops/parallel.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace omni::ops {
namespace {

TEST(ParallelForTest, CallsEachIndexOnceAndShowsTheCallerWhatWasWritten) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      SCOPED_TRACE(::testing::Message() << threads << " threads, " << count);
      std::vector<int> calls(count, 0);
      ParallelFor(threads, count, [&](int64_t i, int) { ++calls[i]; });
      EXPECT_EQ(calls, std::vector<int>(count, 1));
    }
  }
}

TEST(ParallelForTest, CallsAtTheSameTimeHaveDifferentWorkers) {
  constexpr int kThreads = 4;
  std::vector<std::atomic<int>> busy(kThreads);
  std::atomic<int> clashes = 0;
  ParallelFor(kThreads, 10000, [&](int64_t, int worker) {
    ASSERT_GE(worker, 0);
    ASSERT_LT(worker, kThreads);
    if (busy[worker].fetch_add(1) != 0) ++clashes;
    busy[worker].fetch_sub(1);
  });
  EXPECT_EQ(clashes, 0);
}

TEST(ParallelForTest, RunsOnSeveralThreads) {
  // Each call waits until both have started, which one thread alone never
  // gets past.
  std::atomic<int> started = 0;
  ParallelFor(2, 2, [&](int64_t, int) {
    ++started;
    while (started.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(started, 2);
}

TEST(ParallelForTest, WorksFromSeveralCallingThreads) {
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(3, 0);
  for (int64_t& sum : sums) {
    callers.emplace_back([&sum] {
      std::vector<int64_t> squares(100);
      ParallelFor(2, 100, [&](int64_t i, int) { squares[i] = i * i; });
      for (const int64_t square : squares) sum += square;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sums, std::vector<int64_t>(3, 328350));
}

TEST(AvailableThreadsTest, IsPositive) { EXPECT_GE(AvailableThreads(), 1); }

}  // namespace
}  // namespace omni::ops
