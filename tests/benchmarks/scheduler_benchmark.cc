// What the scheduler itself costs: nothing here does any work.
//
// Each benchmark takes its samples itself and reports percentiles of them as
// counters; the time that the framework prints is that of a whole batch.

#include <benchmark/benchmark.h>
#include <dirent.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/logging.h"
#include "runtime/scheduler/serial_scheduler.h"
#include "runtime/testing/allocated_bytes.h"

namespace omni {
namespace {

std::shared_ptr<SerialScheduler> MakeScheduler(int max_pending) {
  auto scheduler = SerialScheduler::Create({.max_pending = max_pending});
  CHECK(scheduler.ok()) << scheduler.status().ToString();
  return *std::move(scheduler);
}

// Sorts `samples` and reports their median and 99th percentile.
void ReportPercentiles(benchmark::State& state, std::vector<double>& samples) {
  std::sort(samples.begin(), samples.end());
  state.counters["p50_us"] = samples[samples.size() / 2];
  state.counters["p99_us"] = samples[samples.size() * 99 / 100];
  state.counters["samples"] = static_cast<double>(samples.size());
}

double MicrosecondsSince(absl::Time start) {
  return absl::ToDoubleMicroseconds(absl::Now() - start);
}

int ThreadsOfThisProcess() {
  DIR* const tasks = opendir("/proc/self/task");
  CHECK(tasks != nullptr);
  int count = 0;
  // Only one thread reads this directory.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// Holds the executor until it is opened, so that a queue can build up.
class Gate {
 public:
  explicit Gate(SerialScheduler& scheduler) {
    CHECK(scheduler
              .Submit<int>(
                  *scheduler.Reserve(),
                  [this]() -> absl::StatusOr<int> {
                    entered_.Notify();
                    open_.WaitForNotification();
                    return 0;
                  },
                  {}, [this](const absl::StatusOr<int>&) { done_.Notify(); })
              .ok());
    entered_.WaitForNotification();
  }

  // To be opened before.
  ~Gate() { done_.WaitForNotification(); }

  void Open() { open_.Notify(); }

 private:
  absl::Notification entered_;
  absl::Notification open_;
  absl::Notification done_;
};

// From one unit's return to the next unit's start, the queue not being empty.
// Every unit has a deadline and a probe, as in the server. Arg: whether
// `on_done` wakes another thread, as the server's does.
void BM_HandOver(benchmark::State& state) {
  constexpr int kUnits = 1'000;
  const bool wake = state.range(0) != 0;
  auto scheduler = MakeScheduler(kUnits + 1);
  std::vector<double> samples;
  while (state.KeepRunning()) {
    absl::Time returned = absl::InfiniteFuture();  // Of the unit before.
    absl::BlockingCounter done(kUnits);
    absl::Mutex mu;
    int results = 0;
    Gate gate(*scheduler);
    const absl::Time deadline = absl::Now() + absl::Hours(1);
    for (int i = 0; i < kUnits; ++i) {
      CHECK(scheduler
                ->Submit<int>(
                    *scheduler->Reserve(),
                    [&]() -> absl::StatusOr<int> {
                      if (returned != absl::InfiniteFuture()) {
                        samples.push_back(MicrosecondsSince(returned));
                      }
                      returned = absl::Now();
                      return 0;
                    },
                    {.deadline = deadline, .caller_gone = [] { return false; }},
                    [&, wake](const absl::StatusOr<int>&) {
                      if (wake) {
                        absl::MutexLock lock(&mu);
                        ++results;
                      }
                      done.DecrementCount();
                    })
                .ok());
    }
    Thread reader;
    if (wake) {
      reader = *Thread::Start("reader", [&] {
        for (int seen = 0; seen < kUnits;) {
          const auto more = [&] { return results > seen; };
          absl::MutexLock lock(&mu);
          mu.Await(absl::Condition(&more));
          seen = results;
        }
      });
    }
    gate.Open();
    done.Wait();
  }
  ReportPercentiles(state, samples);
}
BENCHMARK(BM_HandOver)
    ->ArgName("wake")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond);

// From Ticket::Cancel to the caller's result, with 1,000 units in the queue.
void BM_Cancel(benchmark::State& state) {
  constexpr int kUnits = 1'000;
  auto scheduler = MakeScheduler(kUnits + 1);
  std::vector<double> samples;
  while (state.KeepRunning()) {
    Gate gate(*scheduler);
    const absl::Time deadline = absl::Now() + absl::Hours(1);
    std::vector<Ticket> tickets;
    absl::Time ended;
    for (int i = 0; i < kUnits; ++i) {
      tickets.push_back(*scheduler->Submit<int>(
          *scheduler->Reserve(), []() -> absl::StatusOr<int> { return 0; },
          {.deadline = deadline},
          [&ended](const absl::StatusOr<int>&) { ended = absl::Now(); }));
    }
    for (Ticket& ticket : tickets) {
      const absl::Time start = absl::Now();
      CHECK(ticket.Cancel());
      samples.push_back(absl::ToDoubleMicroseconds(ended - start));
    }
    gate.Open();
  }
  ReportPercentiles(state, samples);
}
BENCHMARK(BM_Cancel)->Iterations(20)->Unit(benchmark::kMillisecond);

// From a unit's deadline to the caller's result, while another unit runs.
void BM_Deadline(benchmark::State& state) {
  auto scheduler = MakeScheduler(2);
  Gate gate(*scheduler);
  std::vector<double> samples;
  while (state.KeepRunning()) {
    absl::Notification done;
    const absl::Time deadline = absl::Now() + absl::Milliseconds(2);
    CHECK(scheduler
              ->Submit<int>(
                  *scheduler->Reserve(),
                  []() -> absl::StatusOr<int> { return 0; },
                  {.deadline = deadline},
                  [&](const absl::StatusOr<int>&) {
                    samples.push_back(MicrosecondsSince(deadline));
                    done.Notify();
                  })
              .ok());
    done.WaitForNotification();
  }
  gate.Open();
  ReportPercentiles(state, samples);
}
BENCHMARK(BM_Deadline)->Iterations(500)->Unit(benchmark::kMillisecond);

// Many waiters: submit all, withdraw every second one, let the rest run.
// bytes_per_waiter is the most that the scheduler ever held, slots included,
// tickets and the vector of them not.
void BM_Waiters(benchmark::State& state) {
  const int waiters = static_cast<int>(state.range(0));
  auto scheduler = MakeScheduler(waiters + 1);
  double submit_ns = 0, withdraw_ns = 0, drain_ns = 0, bytes = 0;
  int threads = 0;
  const int threads_before = ThreadsOfThisProcess();
  while (state.KeepRunning()) {
    std::vector<Ticket> tickets;
    tickets.reserve(waiters);
    absl::Notification last_done;
    std::atomic<int> to_come = waiters;
    Gate gate(*scheduler);
    testing::ResetPeakAllocatedBytes();
    const int64_t before = testing::AllocatedBytes();
    absl::Time start = absl::Now();
    const absl::Time deadline = start + absl::Hours(1);
    for (int i = 0; i < waiters; ++i) {
      tickets.push_back(*scheduler->Submit<int>(
          *scheduler->Reserve(), []() -> absl::StatusOr<int> { return 0; },
          {.deadline = deadline + absl::Nanoseconds(i * 7919 % waiters),
           .caller_gone = [] { return false; }},
          [&](const absl::StatusOr<int>&) {
            if (to_come.fetch_sub(1) == 1) last_done.Notify();
          }));
    }
    submit_ns += absl::ToDoubleNanoseconds(absl::Now() - start) / waiters;
    threads = ThreadsOfThisProcess() - threads_before;
    start = absl::Now();
    for (int i = 0; i < waiters; i += 2) CHECK(tickets[i].Cancel());
    withdraw_ns +=
        absl::ToDoubleNanoseconds(absl::Now() - start) / (waiters / 2.0);
    start = absl::Now();
    gate.Open();
    last_done.WaitForNotification();
    drain_ns +=
        absl::ToDoubleNanoseconds(absl::Now() - start) / (waiters / 2.0);
    bytes =
        static_cast<double>(testing::PeakAllocatedBytes() - before) / waiters;
  }
  const auto per_iteration = benchmark::Counter::kAvgIterations;
  state.counters["submit_ns"] = {submit_ns, per_iteration};
  state.counters["withdraw_ns"] = {withdraw_ns, per_iteration};
  state.counters["drain_ns"] = {drain_ns, per_iteration};
  state.counters["bytes_per_waiter"] = bytes;
  state.counters["threads_added"] = threads;
}
BENCHMARK(BM_Waiters)
    ->ArgName("waiters")
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace omni

BENCHMARK_MAIN();
