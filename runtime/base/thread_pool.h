#ifndef OMNI_RUNTIME_BASE_THREAD_POOL_H_
#define OMNI_RUNTIME_BASE_THREAD_POOL_H_

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/thread.h"

namespace omni {

// A fixed number of threads that run posted tasks, oldest first.
//
// The queue has no bound of its own: whoever posts bounds what is outstanding.
// Tasks must not throw. A task is destroyed on its thread when it has returned.
//
// Thread-safe.
class ThreadPool {
 public:
  // INVALID_ARGUMENT unless `threads` is at least 1, RESOURCE_EXHAUSTED if the
  // system has no thread left. Threads are called `name` and a number.
  static absl::StatusOr<std::unique_ptr<ThreadPool>> Create(
      std::string_view name, int threads);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  // Joins.
  ~ThreadPool();

  // Not to be called after Join, except by a task.
  void Post(absl::AnyInvocable<void() &&> task) ABSL_LOCKS_EXCLUDED(mu_);

  // Runs everything that was posted, and what it posts in turn, then ends the
  // threads. Must not be called by a task.
  void Join() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  ThreadPool() = default;

  void RunLoop() ABSL_LOCKS_EXCLUDED(mu_);
  bool HasWorkOrEnds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !tasks_.empty() || joining_;
  }

  absl::Mutex mu_;
  std::deque<absl::AnyInvocable<void() &&>> tasks_ ABSL_GUARDED_BY(mu_);
  bool joining_ ABSL_GUARDED_BY(mu_) = false;
  // Last: they use the queue.
  std::vector<Thread> threads_;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_BASE_THREAD_POOL_H_
