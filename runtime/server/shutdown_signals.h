#ifndef OMNI_RUNTIME_SERVER_SHUTDOWN_SIGNALS_H_
#define OMNI_RUNTIME_SERVER_SHUTDOWN_SIGNALS_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/thread.h"

namespace omni {

// SIGTERM and SIGINT of the process, taken by a thread that waits for them:
// what a shutdown does is not allowed in a signal handler.
//
// Until Defer is called there is nothing to shut down in good order: the first
// signal ends the process with code 0. After that the first one is kept for
// Await, and a second one ends the process at once, with code 1.
//
// One object in a process, made before any other thread exists, since each
// inherits which signals are blocked.
class ShutdownSignals {
 public:
  // Blocks the signals and starts the thread.
  static absl::StatusOr<std::unique_ptr<ShutdownSignals>> Create();

  ShutdownSignals(const ShutdownSignals&) = delete;
  ShutdownSignals& operator=(const ShutdownSignals&) = delete;
  // Ends the thread. The signals stay blocked.
  ~ShutdownSignals();

  // To be called before the first request can come.
  void Defer() ABSL_LOCKS_EXCLUDED(mu_);

  // Waits for the first signal after Defer.
  void Await() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  ShutdownSignals(int signals, int end) : signals_(signals), end_(end) {}

  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  void Take(int signal) ABSL_LOCKS_EXCLUDED(mu_);

  const int signals_;  // A descriptor that gives the signals.
  const int end_;      // A descriptor that ends the thread once readable.

  absl::Mutex mu_;
  bool deferred_ ABSL_GUARDED_BY(mu_) = false;
  bool received_ ABSL_GUARDED_BY(mu_) = false;

  Thread thread_;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_SHUTDOWN_SIGNALS_H_
