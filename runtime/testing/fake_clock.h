#ifndef OMNI_RUNTIME_TESTING_FAKE_CLOCK_H_
#define OMNI_RUNTIME_TESTING_FAKE_CLOCK_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/base/clock.h"

namespace omni::testing {

// A clock that stands still until a test moves it. Whoever waits for a time
// that Advance reaches is woken before Advance returns; what it does then
// happens on its own thread.
//
// Thread-safe. Advance must not be called with a mutex held that somebody
// passes to AwaitUntil.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::UnixEpoch()) : now_(start) {}

  absl::Time Now() const override ABSL_LOCKS_EXCLUDED(now_mu_);
  void AwaitUntil(absl::Mutex* mu, const absl::Condition& condition,
                  absl::Time deadline) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) ABSL_LOCKS_EXCLUDED(waits_mu_);

  void Advance(absl::Duration duration) ABSL_LOCKS_EXCLUDED(waits_mu_, now_mu_);

 private:
  struct Wait {
    absl::Mutex* mu;
    const absl::Condition* condition;
    absl::Time deadline;
    bool reached = false;  // Guarded by *mu.
  };

  // Never taken with the mutex of a Wait held.
  mutable absl::Mutex waits_mu_;
  mutable std::vector<Wait*> waits_ ABSL_GUARDED_BY(waits_mu_);
  // Taken last.
  mutable absl::Mutex now_mu_;
  absl::Time now_ ABSL_GUARDED_BY(now_mu_);
};

}  // namespace omni::testing

#endif  // OMNI_RUNTIME_TESTING_FAKE_CLOCK_H_
