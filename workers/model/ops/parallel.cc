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

using Body = absl::FunctionRef<void(int64_t, int)>;

// What a calling thread shares with its workers. One for each calling thread
// and for all of its loops, so that nothing is initialised while a worker
// looks.
//
// OpenMP orders the caller's and the workers' accesses, but ThreadSanitizer
// does not see inside its runtime. `next` orders them as well, where it does
// see: the caller publishes a loop by storing to it, a worker loads it before
// it reads anything else, and its last access is a step of `next`, which the
// caller loads after the loop.
struct Loop {
  std::atomic<int64_t> next{0};
  int64_t count = 0;
  const Body* body = nullptr;
};

void RunWorker(void* data) {
  Loop& loop = *static_cast<Loop*>(data);
  loop.next.load(std::memory_order_acquire);
  const int64_t count = loop.count;
  const Body& body = *loop.body;
  const int worker = omp_get_thread_num();
  while (true) {
    const int64_t i = loop.next.fetch_add(1, std::memory_order_acq_rel);
    if (i >= count) return;
    body(i, worker);
  }
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
  thread_local Loop loop;
  loop.count = count;
  loop.body = &body;
  loop.next.store(0, std::memory_order_release);
  // Always the full team: libgomp ends and restarts threads when its size
  // changes.
  GOMP_parallel(RunWorker, &loop, static_cast<unsigned>(threads), 0);
  loop.next.load(std::memory_order_acquire);
}

}  // namespace omni::ops
