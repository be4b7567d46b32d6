#include "workers/model/ops/parallel.h"

#include <algorithm>
#include <atomic>

// The C interface of the OpenMP runtime that oneDNN is linked with. Declared
// here instead of using -fopenmp, so that every compiler produces calls of that
// runtime and not of its own one, and so that what runs on its threads is a
// plain function (see RunWorker).
extern "C" {
void GOMP_parallel(void (*fn)(void*), void* data, unsigned num_threads,
                   unsigned flags);
int omp_get_num_procs();
int omp_get_thread_num();
void omp_set_num_threads(int threads);
}

namespace omni::ops {
namespace {

struct Loop {
  int64_t count;
  absl::FunctionRef<void(int64_t, int)> body;
  std::atomic<int64_t> next;
};

// Release and acquire on every step: the first makes what the caller wrote
// before the loop visible to the workers, the last makes what they wrote
// visible to the caller. OpenMP promises both as well, but ThreadSanitizer does
// not see inside its runtime; it does see this chain.
[[gnu::noinline]] int64_t Next(Loop& loop) {
  return loop.next.fetch_add(1, std::memory_order_acq_rel);
}

[[gnu::noinline]] void Drain(Loop& loop, int64_t first, int worker) {
  for (int64_t i = first; i < loop.count; i = Next(loop)) loop.body(i, worker);
}

void RunWorker(void* data) {
  Loop& loop = *static_cast<Loop*>(data);
  const int64_t first = Next(loop);
  Drain(loop, first, omp_get_thread_num());
}

}  // namespace

int AvailableThreads() { return std::max(1, omp_get_num_procs()); }

void UseThreads(int threads) { omp_set_num_threads(threads); }

void ParallelFor(int threads, int64_t count,
                 absl::FunctionRef<void(int64_t index, int worker)> body) {
  const int64_t useful = std::min<int64_t>(threads, count);
  if (useful <= 1) {
    for (int64_t i = 0; i < count; ++i) body(i, 0);
    return;
  }
  Loop loop{count, body, 0};
  loop.next.store(0, std::memory_order_release);
  // Always the full team: libgomp ends and restarts threads when its size
  // changes.
  GOMP_parallel(RunWorker, &loop, static_cast<unsigned>(threads), 0);
  // Pairs with the last Next of every worker.
  loop.next.load(std::memory_order_acquire);
}

}  // namespace omni::ops
