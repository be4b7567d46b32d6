#ifndef OMNI_RUNTIME_BASE_CLOCK_H_
#define OMNI_RUNTIME_BASE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace omni {

// Time of day, and waiting for it. Code that looks at deadlines takes a Clock,
// so that tests can replace it by a testing::FakeClock and move time by hand.
//
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // The system's clock. Lives as long as the process.
  static const Clock* Real();

  virtual absl::Time Now() const = 0;

  // Waits, with *mu released meanwhile, until `condition` holds or `deadline`
  // has come. It may return early or after the condition has changed back:
  // callers look again. absl::InfiniteFuture() never comes.
  virtual void AwaitUntil(absl::Mutex* mu, const absl::Condition& condition,
                          absl::Time deadline) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_BASE_CLOCK_H_
