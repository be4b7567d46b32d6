#include "runtime/base/clock.h"

#include "absl/time/clock.h"

namespace omni {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }

  void AwaitUntil(absl::Mutex* mu, const absl::Condition& condition,
                  absl::Time deadline) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    mu->AwaitWithDeadline(condition, deadline);
  }
};

}  // namespace

const Clock* Clock::Real() {
  static const RealClock clock;
  return &clock;
}

}  // namespace omni
