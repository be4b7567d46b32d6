#ifndef OMNI_RUNTIME_SCHEDULER_SERIAL_SCHEDULER_H_
#define OMNI_RUNTIME_SCHEDULER_SERIAL_SCHEDULER_H_

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/scheduler/admission_queue.h"

namespace omni {

// Admits work to one loaded executor, first come first served, one unit at a
// time. Knows nothing about models, requests' contents or gRPC. Copies of the
// shared pointer share one queue; two schedulers never block each other.
//
// Flow: a request reserves a slot, then submits one unit after another under
// it. A unit waits without a thread. When it is the oldest one and the permit
// is free, it gets the permit, its `caller_gone` is polled, its deadline is
// looked at, and it is dispatched: it runs on the executor's thread, the same
// one for all units of a scheduler. From then on nothing stops it. When it has
// returned or thrown, its captures are destroyed, then permit and slot are
// given back, then `on_done` gets the result.
//
// Threads: two, whatever the number of waiters: the executor's, and one that
// ends waiters whose deadline has come. One executor runs one unit at a time
// and wants the same thread for all of them, so each scheduler owns one thread
// and the fixed pool of blocking threads is the set of schedulers. `on_done` of
// a unit that ran is called on the executor's thread, before the next unit:
// handing results to a further thread would cost each of them a wake-up. So
// `on_done` must be short, as putting the result into another thread's queue
// is, and must not wait for a unit. `on_done` of a withdrawn unit is called on
// the thread that withdraws it: that of Cancel, Close or the destructor, the
// one for deadlines, or, after `caller_gone` or a deadline seen at dispatch,
// the executor's. All of them may call the scheduler.
//
// Ownership: a unit is moved in and destroyed where it ran, or by whoever
// withdraws it, before `on_done` is called. `on_done` runs exactly once if
// Submit returned a ticket, never under a lock, and may run before Submit
// returns. Dropping a Ticket changes nothing.
//
// Thread-safe.
//
// Errors that reach `on_done`: CANCELLED (CALLER_GONE) for a unit withdrawn by
// Ticket::Cancel or because of `caller_gone`; DEADLINE_EXCEEDED
// (DEADLINE_PASSED) for one whose deadline passed before dispatch; the reason
// of Close; INTERNAL "execution task failed" for a unit that threw; otherwise
// the unit's own status, unchanged. None of them makes the scheduler unusable.
// Units, probes and `on_done` must not throw from a destructor, and the latter
// two not at all: that ends the process.
//
// Shutdown: the destructor closes with CANCELLED, waits for the dispatched unit
// and its `on_done`, and joins the threads. It must not run on one of them.
// Slots and tickets may live on.
//
//   ASSIGN_OR_RETURN(RequestSlot slot, scheduler->Reserve());
//   ASSIGN_OR_RETURN(
//       Ticket ticket,
//       scheduler->Submit<Rows>(slot, std::move(unit), {.deadline = deadline},
//                               [call](absl::StatusOr<Rows> rows) {...}));
//   ...
//   ticket.Cancel();
class SerialScheduler {
 public:
  struct Options {
    // Slots: requests that wait or run, together; 1..1,000,000.
    int max_pending = 64;
    // Not owned; outlives the scheduler, its slots and its tickets.
    const Clock* clock = Clock::Real();
  };

  // INVALID_ARGUMENT if max_pending is out of range, RESOURCE_EXHAUSTED if a
  // thread cannot be started.
  static absl::StatusOr<std::shared_ptr<SerialScheduler>> Create(
      Options options);

  SerialScheduler(const SerialScheduler&) = delete;
  SerialScheduler& operator=(const SerialScheduler&) = delete;
  ~SerialScheduler();

  // RESOURCE_EXHAUSTED (QUEUE_FULL, with `limit` and the `actual` number of
  // slots that it would have made) when all slots are taken; the reason of
  // Close after it.
  absl::StatusOr<RequestSlot> Reserve();

  // Queues a unit under a slot of this scheduler. Only fails after Close, with
  // its reason; then `unit` and `on_done` are destroyed without a call.
  template <typename Result>
  absl::StatusOr<Ticket> Submit(
      RequestSlot slot, absl::AnyInvocable<absl::StatusOr<Result>() &&> unit,
      SubmitOptions options,
      absl::AnyInvocable<void(absl::StatusOr<Result>) &&> on_done) {
    return queue_->Enqueue(std::make_shared<TypedUnit<Result>>(
        std::move(slot), std::move(unit), std::move(options),
        std::move(on_done)));
  }

  // Refuses reservations and units from now on and ends every waiter, oldest
  // first and before it returns, both with `reason`, which is an error. The
  // dispatched unit, which may itself call this, runs on. Only the first call
  // counts.
  void Close(const absl::Status& reason);

  SchedulerStats stats() const;

 private:
  template <typename Result>
  class TypedUnit final : public QueuedUnit {
   public:
    TypedUnit(RequestSlot slot,
              absl::AnyInvocable<absl::StatusOr<Result>() &&> unit,
              SubmitOptions options,
              absl::AnyInvocable<void(absl::StatusOr<Result>) &&> on_done)
        : QueuedUnit(std::move(slot), std::move(options)),
          unit_(std::move(unit)),
          on_done_(std::move(on_done)) {}

   private:
    void Run(absl::FunctionRef<void()> release) noexcept override {
      absl::StatusOr<Result> result = Call();
      Complete(release, std::move(result));
    }

    void Withdraw(absl::FunctionRef<void()> release,
                  absl::Status why) noexcept override {
      Complete(release, std::move(why));
    }

    absl::StatusOr<Result> Call() {
      try {
        return std::move(unit_)();
      } catch (...) {
        return ThrownError();
      }
    }

    void Complete(absl::FunctionRef<void()> release,
                  absl::StatusOr<Result> result) {
      unit_ = nullptr;
      release();
      std::move(on_done_)(std::move(result));
      on_done_ = nullptr;
    }

    absl::AnyInvocable<absl::StatusOr<Result>() &&> unit_;
    absl::AnyInvocable<void(absl::StatusOr<Result>) &&> on_done_;
  };

  explicit SerialScheduler(Options options);

  // What `on_done` gets for a unit that threw.
  static absl::Status ThrownError();

  const std::shared_ptr<AdmissionQueue> queue_;
  // Last: they use the queue.
  Thread executor_thread_;
  Thread deadline_thread_;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SCHEDULER_SERIAL_SCHEDULER_H_
