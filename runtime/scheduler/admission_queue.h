#ifndef OMNI_RUNTIME_SCHEDULER_ADMISSION_QUEUE_H_
#define OMNI_RUNTIME_SCHEDULER_ADMISSION_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/base/clock.h"
#include "runtime/scheduler/deadline_queue.h"

namespace omni {

class AdmissionQueue;
class QueuedUnit;

// One place in a scheduler's bounded queue. A request holds one from its
// arrival until its answer, so that none of its units can be refused half way.
// Every unit that waits or runs holds a copy, so that the place of a dispatched
// unit stays taken when its caller has gone. The place is free when the last
// copy is destroyed. Default-made and moved-from objects hold none.
//
// Copying is cheap. Different copies may be used by different threads. A slot
// may outlive its scheduler.
class RequestSlot {
 public:
  RequestSlot() = default;

 private:
  friend class AdmissionQueue;
  struct Place;

  explicit RequestSlot(std::shared_ptr<const Place> place)
      : place_(std::move(place)) {}

  std::shared_ptr<const Place> place_;
};

// Withdraws one unit. Copyable; copies stand for the same unit. Dropping it
// changes nothing, and it may outlive its scheduler. Thread-safe.
class Ticket {
 public:
  // Stands for no unit; Cancel() is false.
  Ticket() = default;

  // True if the unit was still waiting: it will never run, its captures are
  // destroyed and `on_done` has got CANCELLED (CALLER_GONE), on this thread,
  // when this returns. False once the unit was dispatched, has ended or is
  // being withdrawn by somebody else; then nothing changes. O(1) in the worst
  // case, besides what the captures' destructors and `on_done` do.
  //
  // If the unit's `caller_gone` is being polled at this moment, waits for it.
  bool Cancel();

 private:
  friend class AdmissionQueue;

  Ticket(std::shared_ptr<AdmissionQueue> queue,
         std::shared_ptr<QueuedUnit> unit);

  std::shared_ptr<AdmissionQueue> queue_;
  std::shared_ptr<QueuedUnit> unit_;
};

struct SubmitOptions {
  // The unit is withdrawn with DEADLINE_EXCEEDED when this has come and it was
  // not dispatched yet. The default is never.
  absl::Time deadline = absl::InfiniteFuture();
  // Polled once, on the executor's thread, right before dispatch and without
  // any lock: true withdraws the unit with CANCELLED. Never runs together with
  // or after `on_done`, and is destroyed before the unit runs. Must not block,
  // throw, cancel a unit or close the scheduler, nor take a lock that somebody
  // holds around one of the latter two. May be null.
  absl::AnyInvocable<bool()> caller_gone = nullptr;
};

// Counters since the start, and the state of now.
struct SchedulerStats {
  int depth = 0;             // Slots taken.
  int capacity = 0;          // max_pending.
  uint64_t refused = 0;      // Reservations refused because the queue was full.
  uint64_t units_run = 0;    // Units that were dispatched and have returned.
  absl::Duration wait_time;  // Submit to dispatch, summed over units_run.
  absl::Duration run_time;   // Dispatch to permit free, summed over units_run.
};

// A unit without its result type. Internal to the scheduler.
class QueuedUnit : public DeadlineQueue::Item {
 public:
  QueuedUnit(RequestSlot slot, SubmitOptions options)
      : slot_(std::move(slot)),
        deadline_(options.deadline),
        caller_gone_(std::move(options.caller_gone)) {}
  QueuedUnit(const QueuedUnit&) = delete;
  QueuedUnit& operator=(const QueuedUnit&) = delete;
  virtual ~QueuedUnit() = default;

 private:
  friend class AdmissionQueue;
  friend class Ticket;

  enum class State {
    kWaiting,     // In the queue.
    kAssigned,    // Out of the queue; has the permit, can still be withdrawn.
    kDispatched,  // Runs; nothing stops it.
    kEnded,       // Withdrawn, or has returned.
  };

  // Calls the unit, destroys its captures, calls `release`, hands the result to
  // `on_done`.
  virtual void Run(absl::FunctionRef<void()> release) noexcept = 0;
  // Destroys the unit's captures, calls `release`, hands `why` to `on_done`.
  virtual void Withdraw(absl::FunctionRef<void()> release,
                        absl::Status why) noexcept = 0;

  // Used by whoever enqueues, runs or ends the unit: one thread at a time.
  RequestSlot slot_;
  const absl::Time deadline_;
  absl::Time submitted_;
  absl::AnyInvocable<bool()> caller_gone_;

  // Guarded by the queue's mutex.
  State state_ = State::kWaiting;
  // Some thread will end the unit when it has left kAssigned.
  bool claimed_ = false;
  QueuedUnit* previous_ = nullptr;
  QueuedUnit* next_ = nullptr;
  // The queue's reference while the unit is linked into it: with it in here a
  // unit needs one allocation only.
  std::shared_ptr<QueuedUnit> self_;
};

// The part of SerialScheduler that knows no result type: the bounded FIFO
// queue, its permit, its deadlines. Two threads of the owner serve it, one in
// RunUnits and one in EndExpiredUnits; the first of them is the permit: who
// holds it is the unit that the thread took last.
//
// Ownership: lives in a shared_ptr, of which slots and tickets have copies.
//
// Thread-safe. Foreign code (units, probes, on_done, destructors of captures)
// is never called under mu_.
//
// See SerialScheduler for what is promised to callers.
class AdmissionQueue : public std::enable_shared_from_this<AdmissionQueue> {
 public:
  // `clock` outlives the object.
  AdmissionQueue(int max_pending, const Clock* clock)
      : max_pending_(max_pending), clock_(clock) {}

  absl::StatusOr<RequestSlot> Reserve() ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<Ticket> Enqueue(std::shared_ptr<QueuedUnit> unit)
      ABSL_LOCKS_EXCLUDED(mu_);
  bool Cancel(QueuedUnit* unit) ABSL_LOCKS_EXCLUDED(mu_);
  void Close(const absl::Status& reason) ABSL_LOCKS_EXCLUDED(mu_);
  SchedulerStats stats() const ABSL_LOCKS_EXCLUDED(mu_);

  // Run units one by one until Stop was called and none waits.
  void RunUnits() ABSL_LOCKS_EXCLUDED(mu_);
  // Ends waiters when their deadline has come, until Stop.
  void EndExpiredUnits() ABSL_LOCKS_EXCLUDED(mu_);
  // After Close: lets both functions above return.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  friend struct RequestSlot::Place;

  // The oldest waiter, which then has the permit; null after Stop.
  std::shared_ptr<QueuedUnit> AssignPermit() ABSL_LOCKS_EXCLUDED(mu_);
  // Whether the unit that has the permit may run. If not, it was ended or is
  // ended by the thread that claimed it.
  bool Dispatch(QueuedUnit& unit) ABSL_LOCKS_EXCLUDED(mu_);
  void RunDispatched(QueuedUnit& unit) ABSL_LOCKS_EXCLUDED(mu_);
  // Ends a unit that this thread has taken out of the queue.
  void End(QueuedUnit& unit, absl::Status why) ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until a unit that this thread has claimed has left kAssigned.
  void AwaitClaimed(QueuedUnit* unit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Link(std::shared_ptr<QueuedUnit> unit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<QueuedUnit> Unlink(QueuedUnit* unit, QueuedUnit::State state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MustLookAtDeadlines() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int max_pending_;
  const Clock* const clock_;

  // Slots taken. Grows under mu_ only, so that it never passes max_pending_;
  // shrinks anywhere, because the last copy of a slot may go under mu_.
  std::atomic<int> taken_{0};

  mutable absl::Mutex mu_;
  // Ends of the list of waiters, oldest first.
  QueuedUnit* oldest_ ABSL_GUARDED_BY(mu_) = nullptr;
  QueuedUnit* newest_ ABSL_GUARDED_BY(mu_) = nullptr;
  // The unit in kAssigned, if any; alive as long as it is here.
  std::shared_ptr<QueuedUnit> assigned_ ABSL_GUARDED_BY(mu_);
  DeadlineQueue deadlines_ ABSL_GUARDED_BY(mu_);
  // What EndExpiredUnits waits for.
  absl::Time awaited_deadline_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t refused_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t units_run_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Duration wait_time_ ABSL_GUARDED_BY(mu_);
  absl::Duration run_time_ ABSL_GUARDED_BY(mu_);
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SCHEDULER_ADMISSION_QUEUE_H_
