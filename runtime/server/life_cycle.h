#ifndef OMNI_RUNTIME_SERVER_LIFE_CYCLE_H_
#define OMNI_RUNTIME_SERVER_LIFE_CYCLE_H_

#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "omni/v1/decision.pb.h"

namespace omni {

// Where a worker is in its life, and who is told when that changes.
//
//   LOADING -> WARMING -> READY -> DRAINING -> STOPPED
//
// From LOADING to DRAINING every state may also go to FAILED, and LOADING,
// WARMING and FAILED straight to STOPPED. Each change is logged.
//
// Thread-safe.
class LifeCycle {
 public:
  // Gets the state, one call at a time and in the order of the changes.
  using Watcher = absl::AnyInvocable<void(v1::WorkerState)>;

  // In LOADING.
  LifeCycle();
  LifeCycle(const LifeCycle&) = delete;
  LifeCycle& operator=(const LifeCycle&) = delete;

  v1::WorkerState state() const ABSL_LOCKS_EXCLUDED(mu_);

  // Why the worker is FAILED; empty if it never was.
  std::string failure() const ABSL_LOCKS_EXCLUDED(mu_);

  // FAILED_PRECONDITION, with nothing changed, if that is no legal step. FAILED
  // is reached by Fail alone. The watcher has been told on return.
  absl::Status MoveTo(v1::WorkerState next)
      ABSL_LOCKS_EXCLUDED(watcher_mu_, mu_);

  // Moves to FAILED; `failure` is what clients may read (valid UTF-8; cut to 1
  // KiB). Does nothing in FAILED and STOPPED: the first failure is kept. The
  // watcher has been told on return.
  void Fail(std::string_view failure) ABSL_LOCKS_EXCLUDED(watcher_mu_, mu_);

  // Tells `watcher` the state now and whenever it changes; null for nobody. It
  // replaces the watcher before it, which is not called any more on return. A
  // watcher must not change the state.
  void Watch(Watcher watcher) ABSL_LOCKS_EXCLUDED(watcher_mu_, mu_);

 private:
  // Held over a change and the call that tells of it, so that a watcher sees
  // changes in their order; nobody who only reads the state waits for it.
  absl::Mutex watcher_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  Watcher watcher_ ABSL_GUARDED_BY(watcher_mu_);

  mutable absl::Mutex mu_;
  v1::WorkerState state_ ABSL_GUARDED_BY(mu_) = v1::WORKER_STATE_LOADING;
  std::string failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_LIFE_CYCLE_H_
