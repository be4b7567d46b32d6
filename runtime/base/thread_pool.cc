#include "runtime/base/thread_pool.h"

#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"

namespace omni {

absl::StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(
    std::string_view name, int threads) {
  if (threads < 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a thread pool needs a thread, not %d", threads));
  }
  std::unique_ptr<ThreadPool> pool(new ThreadPool());
  for (int i = 0; i < threads; ++i) {
    ASSIGN_OR_RETURN(Thread thread,
                     Thread::Start(absl::StrFormat("%s%d", name, i),
                                   [raw = pool.get()] { raw->RunLoop(); }));
    pool->threads_.push_back(std::move(thread));
  }
  return pool;
}

ThreadPool::~ThreadPool() { Join(); }

void ThreadPool::Post(absl::AnyInvocable<void() &&> task) {
  absl::MutexLock lock(&mu_);
  tasks_.push_back(std::move(task));
}

void ThreadPool::Join() {
  {
    absl::MutexLock lock(&mu_);
    joining_ = true;
  }
  for (Thread& thread : threads_) thread.Join();
}

void ThreadPool::RunLoop() {
  for (;;) {
    absl::AnyInvocable<void() &&> task;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &ThreadPool::HasWorkOrEnds));
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    std::move(task)();
  }
}

}  // namespace omni
