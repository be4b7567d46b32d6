#ifndef OMNI_RUNTIME_BASE_THREAD_H_
#define OMNI_RUNTIME_BASE_THREAD_H_

#include <string_view>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

namespace omni {

// A thread that has a name and is joined by whoever owns it, at the latest when
// the object is destroyed or assigned to. Movable; a moved-from or
// default-made object owns no thread.
//
// Thread-compatible. The owner must not be destroyed on the thread that it
// owns: that ends the process.
class Thread {
 public:
  // Runs `body` on a new thread. The first 15 bytes of `name` show in log
  // lines, debuggers and `ps -L`. `body` must not throw and is destroyed on its
  // thread when it has returned. RESOURCE_EXHAUSTED if the system has no thread
  // left.
  static absl::StatusOr<Thread> Start(std::string_view name,
                                      absl::AnyInvocable<void() &&> body);

  Thread() = default;
  Thread(Thread&& other) = default;
  Thread& operator=(Thread&& other) noexcept {
    Join();
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~Thread() { Join(); }

  // Waits until the body has returned. Does nothing if no thread is owned.
  void Join();

 private:
  explicit Thread(std::thread thread) : thread_(std::move(thread)) {}

  std::thread thread_;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_BASE_THREAD_H_
