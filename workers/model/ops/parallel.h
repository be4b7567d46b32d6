#ifndef OMNI_WORKERS_MODEL_OPS_PARALLEL_H_
#define OMNI_WORKERS_MODEL_OPS_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace omni::ops {

// Processors that this process may use; at least 1.
int AvailableThreads();

// Makes `threads` the number of OpenMP threads of the calling thread. oneDNN
// plans a primitive for the number that holds where the primitive is created
// and some primitives ask again where they run, so a thread that does either
// calls this first.
void UseThreads(int threads);

// Calls body(index, worker) once for each index in [0, count), spread over at
// most `threads` threads; indices are handed out in ascending order, one at a
// time. `worker` is in [0, threads) and two calls that run at the same time
// have different workers, so it may choose scratch memory. Returns when all
// calls have returned; what they wrote is visible to the caller. `body` must
// not throw and must not call ParallelFor.
//
// The threads are those that oneDNN uses (one OpenMP pool for each calling
// thread), so that products and the loops between them never compete.
void ParallelFor(int threads, int64_t count,
                 absl::FunctionRef<void(int64_t index, int worker)> body);

}  // namespace omni::ops

#endif  // OMNI_WORKERS_MODEL_OPS_PARALLEL_H_
