#include "runtime/base/thread.h"

#include <pthread.h>

#include <string>
#include <system_error>

#include "absl/strings/str_format.h"
#include "runtime/base/logging.h"

namespace omni {

absl::StatusOr<Thread> Thread::Start(std::string_view name,
                                     absl::AnyInvocable<void() &&> body) {
  std::string shown(name.substr(0, 15));
  try {
    return Thread(std::thread(
        [shown = std::move(shown), body = std::move(body)]() mutable noexcept {
          pthread_setname_np(pthread_self(), shown.c_str());
          std::move(body)();
        }));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "cannot start the thread '%s': %s", name, error.what()));
  }
}

void Thread::Join() {
  if (!thread_.joinable()) return;
  CHECK(thread_.get_id() != std::this_thread::get_id())
      << "a thread cannot wait for its own end";
  thread_.join();
}

}  // namespace omni
