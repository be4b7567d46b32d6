#ifndef OMNI_RUNTIME_SERVER_PIPELINE_H_
#define OMNI_RUNTIME_SERVER_PIPELINE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "omni/v1/decision.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread_pool.h"
#include "runtime/json/value.h"
#include "runtime/scheduler/serial_scheduler.h"
#include "runtime/server/life_cycle.h"
#include "runtime/server/worker.h"

namespace omni {

// Time granted to a request whose caller sets no deadline.
inline constexpr absl::Duration kDefaultDeadline = absl::Seconds(60);

// Bytes of a serialized request or of a JSON body.
inline constexpr int64_t kMaxBodyBytes = 4 << 20;

// Takes requests through one worker, from the decoded call to the response;
// knows no transport. Every method of a service and the warm-up go this way.
//
// Flow: Admit takes a slot of the queue, or refuses. The run then decodes and
// prepares on the host pool, has the scheduler run one unit after another on
// the executor's thread, and accepts rows and finishes on the host pool. Before
// each step it looks whether its caller is gone or its deadline has passed. The
// slot is given back before the caller gets the result.
//
// Ownership: owns the worker, its scheduler and the host pool. The life cycle
// is not owned and outlives the pipeline.
//
// Errors of a run: the worker's RequestErrors as they are; CALLER_GONE,
// DEADLINE_PASSED; DRAINING if it was withdrawn; EXECUTOR_FAILED if another
// request's unit ended the executor; anything else is logged with the number of
// the request and becomes INTERNAL. A unit that throws or returns
// EXECUTOR_FAILED ends the executor, still on its thread and with the permit
// held: the life cycle goes to FAILED, the waiters end, the worker destroys the
// executor. The caller of that unit gets INTERNAL after all of this.
//
// Shutdown: StopAdmission, AwaitIdle, WithdrawAll if that was in vain, Stop.
// The destructor does all of it without patience.
//
// Thread-safe.
class Pipeline {
 public:
  struct Options {
    int max_pending = 64;  // Requests accepted at a time; 1..1,000,000.
    int host_threads = 2;  // Threads that prepare and finish; at least 1.
    const Clock* clock = Clock::Real();  // Not owned.
  };

  // What a caller hands in.
  struct Request {
    // Gives the request in its JSON form. Runs on the host pool; not at all if
    // the run ends before.
    absl::AnyInvocable<absl::StatusOr<json::Value>() &&> decode;
    absl::Time deadline = absl::InfiniteFuture();
    // Asked right before a unit is dispatched, by any thread and never after
    // `on_done` has begun; must be quick and not call the pipeline. Null: the
    // caller stays.
    absl::AnyInvocable<bool()> caller_gone = nullptr;
    // Gets the response or the error, once and on any thread: on the host pool
    // if there is a response. Must not throw.
    absl::AnyInvocable<void(absl::StatusOr<v1::DecideResponse>) &&> on_done;
  };

  // One accepted request. Does not outlive the pipeline. Thread-safe.
  class Run {
   public:
    virtual ~Run() = default;
    // Sets the run going; to be called once. `on_done` may run before it
    // returns.
    virtual void Start() = 0;
    // Says that the caller is gone, before or after Start. A waiting unit
    // leaves the queue and `on_done` runs before this returns; a dispatched one
    // runs to its end. No effect once the run has ended.
    virtual void Cancel() = 0;
  };

  // Errors as SerialScheduler::Create and ThreadPool::Create.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(
      std::unique_ptr<Worker> worker, LifeCycle* life_cycle, Options options);

  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline();

  const Clock* clock() const { return clock_; }
  json::Dialect dialect() const { return worker_->dialect(); }

  // Errors, with `on_done` destroyed without a call: QUEUE_FULL, DRAINING,
  // EXECUTOR_FAILED, DEADLINE_PASSED.
  absl::StatusOr<std::shared_ptr<Run>> Admit(Request request)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Sends the worker's own warm-up request the whole way, up to the JSON text
  // of its response. Blocks.
  absl::Status WarmUp();

  // The worker's description with state, failure, the limits that apply here
  // and the queue as they are now.
  v1::WorkerInfo Info() const;

  // How long the accepted requests will take, all units of each: their number
  // times the mean time for which a request held the permit, over those that
  // have ended and held it.
  absl::Duration EstimatedWait() const ABSL_LOCKS_EXCLUDED(mu_);

  // Refuses new requests from now on, with DRAINING or, if the life cycle is in
  // FAILED, with EXECUTOR_FAILED.
  void StopAdmission() ABSL_LOCKS_EXCLUDED(mu_);

  // Waits until no accepted request is left or `deadline` comes. True if none
  // is left; then the `on_done` of each has returned.
  bool AwaitIdle(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mu_);

  // Ends every accepted request with DRAINING: those that wait before it
  // returns, the others at their next step.
  void WithdrawAll() ABSL_LOCKS_EXCLUDED(mu_);

  // Ends admission, withdraws what is left, waits for the dispatched unit and
  // has the executor destroyed on its thread. Idempotent; blocks.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  class RunImpl;
  // What a unit brings back, and when it held the permit.
  struct UnitResult {
    Rows rows;
    absl::Time started;
    absl::Time ended;
  };

  Pipeline(std::unique_ptr<Worker> worker, LifeCycle* life_cycle,
           Options options);

  absl::StatusOr<UnitResult> RunUnit(Unit unit);
  void FailExecutor(const absl::Status& cause);
  void DestroyExecutor();
  // Counts the permit time of a request that ends.
  void CountPermitTime(absl::Duration time) ABSL_LOCKS_EXCLUDED(mu_);
  void Remove(RunImpl* run) ABSL_LOCKS_EXCLUDED(mu_);
  bool IsIdle() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return runs_.empty(); }

  const std::unique_ptr<Worker> worker_;
  LifeCycle* const life_cycle_;
  const Clock* const clock_;
  std::atomic<uint64_t> last_id_ = 0;

  mutable absl::Mutex mu_;
  // Of the requests that have ended and ran a unit.
  int64_t timed_requests_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Duration permit_time_ ABSL_GUARDED_BY(mu_);
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_set<RunImpl*> runs_ ABSL_GUARDED_BY(mu_);

  // The executor's thread posts to the pool, tasks of the pool call the
  // scheduler: see the destructor for how they end.
  std::unique_ptr<ThreadPool> pool_;
  std::shared_ptr<SerialScheduler> scheduler_;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_PIPELINE_H_
