#include "runtime/testing/fake_clock.h"

#include <algorithm>

namespace omni::testing {

absl::Time FakeClock::Now() const {
  absl::MutexLock lock(&now_mu_);
  return now_;
}

void FakeClock::AwaitUntil(absl::Mutex* mu, const absl::Condition& condition,
                           absl::Time deadline) const {
  Wait wait = {.mu = mu, .condition = &condition, .deadline = deadline};
  // Advance takes *mu while it holds waits_mu_, so here the one is released
  // before the other is taken.
  mu->Unlock();
  {
    absl::MutexLock lock(&waits_mu_);
    waits_.push_back(&wait);
    wait.reached = Now() >= deadline;
  }
  mu->Lock();
  mu->Await(absl::Condition(
      +[](Wait* w) { return w->reached || w->condition->Eval(); }, &wait));
  mu->Unlock();
  {
    absl::MutexLock lock(&waits_mu_);
    waits_.erase(std::find(waits_.begin(), waits_.end(), &wait));
  }
  mu->Lock();
}

void FakeClock::Advance(absl::Duration duration) {
  absl::MutexLock lock(&waits_mu_);
  absl::Time now;
  {
    absl::MutexLock now_lock(&now_mu_);
    now_ += duration;
    now = now_;
  }
  for (Wait* wait : waits_) {
    if (now < wait->deadline) continue;
    absl::MutexLock wait_lock(wait->mu);
    wait->reached = true;
  }
}

}  // namespace omni::testing
