#ifndef OMNI_RUNTIME_SCHEDULER_SERIAL_SCHEDULER_H_
#define OMNI_RUNTIME_SCHEDULER_SERIAL_SCHEDULER_H_

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/clock.h"

namespace omni {

// DESIGN DRAFT of the interface (the scheduler's author may refine comments and
// private parts; the public shape below is what callers are written against).

// One place in a scheduler's bounded queue. A request holds one from its
// arrival until its answer, so that none of its units can be refused half way;
// a unit that waits or runs holds it too, so a dispatched unit whose caller has
// gone still counts. Copyable; the place is free when the last copy is gone.
class RequestSlot;

// Withdraws one unit.
class Ticket {
 public:
  // True if the unit was still waiting: it will never run, its captures are
  // destroyed before this returns, and `on_done` gets CANCELLED (before this
  // returns). False once it was dispatched or has ended; then nothing changes.
  bool Cancel();
};

struct SubmitOptions {
  // The unit is withdrawn with DEADLINE_EXCEEDED when this passes while it
  // waits.
  absl::Time deadline = absl::InfiniteFuture();
  // Polled once, right before dispatch, without any lock: true withdraws the
  // unit with CANCELLED. May be null.
  absl::AnyInvocable<bool()> caller_gone;
};

struct SchedulerStats {
  int depth = 0;         // Slots taken.
  int capacity = 0;      // max_pending.
  uint64_t refused = 0;  // Reservations refused because the queue was full.
  uint64_t units_run = 0;
  absl::Duration wait_time;  // Submit to dispatch, summed over units run.
  absl::Duration run_time;   // Permit held, summed over units run.
};

class SerialScheduler {
 public:
  struct Options {
    int max_pending = 64;  // Slots; 1..1,000,000.
    const Clock* clock = Clock::Real();
  };

  static absl::StatusOr<std::shared_ptr<SerialScheduler>> Create(Options);
  ~SerialScheduler();

  // RESOURCE_EXHAUSTED when all slots are taken; the status of Close after it.
  absl::StatusOr<RequestSlot> Reserve();

  // Queues a unit under a slot of this scheduler. `on_done` runs exactly once
  // if Submit returns a ticket, never under a lock, and may run before Submit
  // returns. If Submit returns an error (only after Close) it is not called.
  template <typename Result>
  absl::StatusOr<Ticket> Submit(
      RequestSlot slot, absl::AnyInvocable<absl::StatusOr<Result>() &&> unit,
      SubmitOptions options,
      absl::AnyInvocable<void(absl::StatusOr<Result>) &&> on_done);

  // Refuses reservations and units from now on and ends every waiter, both with
  // `reason`. The dispatched unit, which may itself call this, runs on. Only
  // the first call counts.
  void Close(absl::Status reason);

  SchedulerStats stats() const;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SCHEDULER_SERIAL_SCHEDULER_H_
