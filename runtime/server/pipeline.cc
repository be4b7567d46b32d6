#include "runtime/server/pipeline.h"

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "runtime/base/logging.h"
#include "runtime/base/request_error.h"
#include "runtime/base/status_macros.h"
#include "runtime/base/utf8.h"
#include "runtime/json/reader.h"
#include "runtime/json/system_one.h"
#include "runtime/server/response_check.h"
#include "runtime/server/status_mapping.h"

namespace omni {
namespace {

// What `f` returns, an absl::Status or a StatusOr; INTERNAL if it throws.
template <typename F>
auto Guarded(const char* what, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrFormat("%s threw: %s", what, e.what()));
  } catch (...) {
    return absl::InternalError(absl::StrFormat("%s threw", what));
  }
}

absl::Status DrainingError() {
  return RequestError(v1::ErrorReason::DRAINING, "the worker is shutting down");
}

absl::Status ExecutorFailedError() {
  return RequestError(v1::ErrorReason::EXECUTOR_FAILED,
                      "the executor of this worker has failed");
}

absl::Status DeadlineError() {
  return RequestError(v1::ErrorReason::DEADLINE_PASSED,
                      "the deadline of the request has passed");
}

}  // namespace

// One request. After Start a chain of steps runs it, one step at a time, each
// on whatever thread it needs: fields without a guard belong to that chain.
// Cancel and WithdrawAll only say that the run is to stop, and withdraw the
// unit that waits; the chain then ends it.
class Pipeline::RunImpl final : public Pipeline::Run,
                                public std::enable_shared_from_this<RunImpl> {
 public:
  RunImpl(Pipeline* pipeline, Request request)
      : pipeline_(pipeline),
        id_(++pipeline->last_id_),
        arrival_(pipeline->clock_->Now()),
        deadline_(request.deadline),
        decode_(std::move(request.decode)),
        caller_gone_(std::move(request.caller_gone)),
        on_done_(std::move(request.on_done)) {}

  ~RunImpl() override { pipeline_->Remove(this); }

  void TakeSlot(RequestSlot slot) { slot_ = std::move(slot); }

  void Start() override {
    pipeline_->pool_->Post([self = shared_from_this()] { self->Prepare(); });
  }

  void Cancel() override {
    Withdraw(pipeline_->clock_->Now() >= deadline_
                 ? DeadlineError()
                 : RequestError(v1::ErrorReason::CALLER_GONE,
                                "the caller has gone"));
  }

  void Withdraw(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_) {
    std::optional<Ticket> ticket;
    {
      absl::MutexLock lock(&mu_);
      if (stop_.ok()) stop_ = why;
      ticket.swap(ticket_);
    }
    // Not under mu_: the unit's callback runs in here.
    if (ticket.has_value()) ticket->Cancel();
  }

 private:
  // Why the run must not go on; OK if it may.
  absl::Status WhyStop() ABSL_LOCKS_EXCLUDED(mu_) {
    {
      absl::MutexLock lock(&mu_);
      if (!stop_.ok()) return stop_;
    }
    if (pipeline_->clock_->Now() >= deadline_) return DeadlineError();
    return absl::OkStatus();
  }

  void Prepare() {
    const absl::Time start = pipeline_->clock_->Now();
    const absl::Status status = Guarded("prepare", [this] {
      RETURN_IF_ERROR(WhyStop());
      ASSIGN_OR_RETURN(const json::Value request, std::move(decode_)());
      if (!request.is_object()) {
        return RequestError(v1::ErrorReason::MALFORMED_JSON,
                            "the request is not a JSON object");
      }
      ASSIGN_OR_RETURN(decision_, pipeline_->worker_->Prepare(request));
      return absl::OkStatus();
    });
    if (!status.ok()) return Complete(status);
    timing_.set_prepare_seconds(
        absl::ToDoubleSeconds(pipeline_->clock_->Now() - start));
    SubmitNext();
  }

  // Submits the next unit, or finishes if there is none. Nothing of the chain
  // is touched after Submit, since the chain may have gone on by then.
  void SubmitNext() {
    Unit unit;
    absl::Status status = Guarded("the next unit", [this, &unit] {
      RETURN_IF_ERROR(WhyStop());
      unit = decision_->NextUnit();
      return absl::OkStatus();
    });
    if (!status.ok()) return Complete(status);
    if (unit == nullptr) return Finish();

    submitted_ = pipeline_->clock_->Now();
    const int submission = ++submissions_;
    auto self = shared_from_this();
    absl::StatusOr<Ticket> ticket = pipeline_->scheduler_->Submit<UnitResult>(
        *slot_,
        [pipeline = pipeline_, unit = std::move(unit)]() mutable {
          return pipeline->RunUnit(std::move(unit));
        },
        {.deadline = deadline_,
         .caller_gone = [self] { return self->CallerGone(); }},
        [self](absl::StatusOr<UnitResult> result) {
          self->OnUnitDone(std::move(result));
        });
    if (!ticket.ok()) return Complete(ticket.status());
    KeepTicket(submission, *std::move(ticket));
  }

  // Keeps the ticket of a submission for Withdraw, unless that unit has ended
  // already; withdraws it if Withdraw came before the ticket.
  void KeepTicket(int submission, Ticket ticket) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      absl::MutexLock lock(&mu_);
      if (ended_submissions_ >= submission) return;
      if (stop_.ok()) {
        ticket_ = std::move(ticket);
        return;
      }
    }
    ticket.Cancel();
  }

  // Right before dispatch. The caller is there to be asked: the scheduler does
  // not call this together with or after OnUnitDone.
  bool CallerGone() ABSL_LOCKS_EXCLUDED(mu_) {
    {
      absl::MutexLock lock(&mu_);
      if (!stop_.ok()) return true;
    }
    return caller_gone_ != nullptr && caller_gone_();
  }

  // On the executor's thread, or on that of whoever withdraws the unit.
  void OnUnitDone(absl::StatusOr<UnitResult> result) ABSL_LOCKS_EXCLUDED(mu_) {
    std::optional<Ticket> ended;
    absl::Status stop;
    {
      absl::MutexLock lock(&mu_);
      ++ended_submissions_;
      ended.swap(ticket_);
      stop = stop_;
    }
    if (!result.ok()) {
      // A withdrawn unit says CALLER_GONE, whatever it was withdrawn for.
      const bool withdrawn =
          ReasonOf(result.status()) == v1::ErrorReason::CALLER_GONE;
      return Complete(withdrawn && !stop.ok() ? stop : result.status());
    }
    timing_.set_queue_seconds(
        timing_.queue_seconds() +
        absl::ToDoubleSeconds(result->started - submitted_));
    permit_time_ += result->ended - result->started;
    ++units_run_;
    timing_.set_execute_seconds(absl::ToDoubleSeconds(permit_time_));
    pipeline_->pool_->Post(
        [self = shared_from_this(), rows = std::move(result->rows)]() mutable {
          self->Accept(std::move(rows));
        });
  }

  void Accept(Rows rows) {
    const absl::Status status = Guarded("accept", [this, &rows] {
      RETURN_IF_ERROR(WhyStop());
      return decision_->Accept(std::move(rows));
    });
    if (!status.ok()) return Complete(status);
    SubmitNext();
  }

  void Finish() {
    Complete(Guarded("finish", [this]() -> absl::StatusOr<v1::DecideResponse> {
      ASSIGN_OR_RETURN(v1::DecideResponse response, decision_->Finish());
      RETURN_IF_ERROR(CheckStringsAreUtf8(response));
      timing_.set_total_seconds(
          absl::ToDoubleSeconds(pipeline_->clock_->Now() - arrival_));
      *response.mutable_timing() = timing_;
      return response;
    }));
  }

  // The end of the chain.
  void Complete(absl::StatusOr<v1::DecideResponse> result) {
    const auto self = shared_from_this();
    if (!result.ok()) {
      const absl::Status seen = ClientStatus(result.status());
      if (ReasonOf(seen) == v1::ErrorReason::INTERNAL) {
        LOG(ERROR) << "request " << id_ << ": " << result.status().ToString();
      }
      result = seen;
    }
    decision_.reset();
    decode_ = nullptr;
    // Before a slot is free, for whoever finds it taken.
    if (units_run_ > 0) pipeline_->CountPermitTime(permit_time_);
    slot_.reset();
    std::move(on_done_)(std::move(result));
    on_done_ = nullptr;
    pipeline_->Remove(this);
  }

  Pipeline* const pipeline_;
  const uint64_t id_;  // Names the request in the log.
  const absl::Time arrival_;
  const absl::Time deadline_;

  absl::AnyInvocable<absl::StatusOr<json::Value>() &&> decode_;
  absl::AnyInvocable<bool()> caller_gone_;
  absl::AnyInvocable<void(absl::StatusOr<v1::DecideResponse>) &&> on_done_;
  std::optional<RequestSlot> slot_;
  std::unique_ptr<Decision> decision_;
  v1::Timing timing_;
  absl::Time submitted_;
  int submissions_ = 0;
  int units_run_ = 0;
  absl::Duration permit_time_;  // Summed over units_run_.

  absl::Mutex mu_;
  absl::Status stop_ ABSL_GUARDED_BY(mu_);  // Not OK: the run is to end so.
  int ended_submissions_ ABSL_GUARDED_BY(mu_) = 0;
  // Of the unit that waits or runs, once Submit has returned it.
  std::optional<Ticket> ticket_ ABSL_GUARDED_BY(mu_);
};

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(
    std::unique_ptr<Worker> worker, LifeCycle* life_cycle, Options options) {
  std::unique_ptr<Pipeline> pipeline(
      new Pipeline(std::move(worker), life_cycle, options));
  ASSIGN_OR_RETURN(pipeline->pool_,
                   ThreadPool::Create("host", options.host_threads));
  ASSIGN_OR_RETURN(pipeline->scheduler_,
                   SerialScheduler::Create({.max_pending = options.max_pending,
                                            .clock = options.clock}));
  return pipeline;
}

Pipeline::Pipeline(std::unique_ptr<Worker> worker, LifeCycle* life_cycle,
                   Options options)
    : worker_(std::move(worker)),
      life_cycle_(life_cycle),
      clock_(options.clock) {}

Pipeline::~Pipeline() {
  if (scheduler_ != nullptr) Stop();
  // No run is left, but a task may still be on its way out of Submit, and the
  // executor's thread on its way out of Post. Joining the pool first lets both
  // find what they need: nothing posts any more.
  if (pool_ != nullptr) pool_->Join();
  scheduler_.reset();
}

absl::StatusOr<std::shared_ptr<Pipeline::Run>> Pipeline::Admit(
    Request request) {
  if (clock_->Now() >= request.deadline) return DeadlineError();
  auto run = std::make_shared<RunImpl>(this, std::move(request));
  bool draining;
  {
    absl::MutexLock lock(&mu_);
    draining = draining_;
    if (!draining) runs_.insert(run.get());
  }
  if (draining) {
    return life_cycle_->state() == v1::WORKER_STATE_FAILED
               ? ExecutorFailedError()
               : DrainingError();
  }
  ASSIGN_OR_RETURN(RequestSlot slot, scheduler_->Reserve());
  run->TakeSlot(std::move(slot));
  return run;
}

absl::Status Pipeline::WarmUp() {
  absl::Notification done;
  absl::StatusOr<v1::DecideResponse> response;
  ASSIGN_OR_RETURN(std::shared_ptr<Run> run,
                   Admit({.decode =
                              [this] {
                                return json::Read(
                                    worker_->WarmUpBody(),
                                    {.dialect = worker_->dialect()});
                              },
                          .on_done =
                              [&](absl::StatusOr<v1::DecideResponse> result) {
                                response = std::move(result);
                                done.Notify();
                              }}));
  run->Start();
  done.WaitForNotification();
  RETURN_IF_ERROR(response.status());
  return json::Read(json::WriteResponse(*response)).status();
}

v1::WorkerInfo Pipeline::Info() const {
  v1::WorkerInfo info = worker_->Info();
  info.set_state(life_cycle_->state());
  info.set_failure(life_cycle_->failure());
  v1::Limits& limits = *info.mutable_limits();
  limits.set_max_body_bytes(kMaxBodyBytes);
  limits.set_max_json_depth(json::kMaxDepth);
  limits.set_default_deadline_seconds(absl::ToDoubleSeconds(kDefaultDeadline));
  const SchedulerStats stats = scheduler_->stats();
  v1::QueueStatus& queue = *info.mutable_queue();
  queue.set_depth(stats.depth);
  queue.set_capacity(stats.capacity);
  queue.set_refused(stats.refused);
  queue.set_units_run(stats.units_run);
  queue.set_wait_seconds(absl::ToDoubleSeconds(stats.wait_time));
  queue.set_run_seconds(absl::ToDoubleSeconds(stats.run_time));
  return info;
}

absl::Duration Pipeline::EstimatedWait() const {
  absl::Duration mean;
  {
    absl::MutexLock lock(&mu_);
    if (timed_requests_ == 0) return absl::ZeroDuration();
    mean = permit_time_ / timed_requests_;
  }
  return mean * scheduler_->stats().depth;
}

void Pipeline::CountPermitTime(absl::Duration time) {
  absl::MutexLock lock(&mu_);
  ++timed_requests_;
  permit_time_ += time;
}

void Pipeline::StopAdmission() {
  absl::MutexLock lock(&mu_);
  draining_ = true;
}

bool Pipeline::AwaitIdle(absl::Time deadline) {
  const absl::Condition idle(this, &Pipeline::IsIdle);
  absl::MutexLock lock(&mu_);
  while (!IsIdle() && clock_->Now() < deadline) {
    clock_->AwaitUntil(&mu_, idle, deadline);
  }
  return IsIdle();
}

void Pipeline::WithdrawAll() {
  std::vector<std::shared_ptr<RunImpl>> runs;
  {
    absl::MutexLock lock(&mu_);
    runs.reserve(runs_.size());
    for (RunImpl* run : runs_) {
      // Null for one that is being destroyed.
      if (auto owned = run->weak_from_this().lock()) runs.push_back(owned);
    }
  }
  for (const auto& run : runs) run->Withdraw(DrainingError());
}

void Pipeline::Stop() {
  {
    absl::MutexLock lock(&mu_);
    if (stopped_) return;
    stopped_ = true;
  }
  StopAdmission();
  WithdrawAll();
  AwaitIdle(absl::InfiniteFuture());
  absl::Notification destroyed;
  const auto submitted = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(RequestSlot slot, scheduler_->Reserve());
    return scheduler_
        ->Submit<bool>(
            std::move(slot),
            [this]() -> absl::StatusOr<bool> {
              DestroyExecutor();
              return true;
            },
            {},
            [&destroyed](const absl::StatusOr<bool>&) { destroyed.Notify(); })
        .status();
  }();
  // Refused only after a failure, which has destroyed the executor.
  if (submitted.ok()) destroyed.WaitForNotification();
}

absl::StatusOr<Pipeline::UnitResult> Pipeline::RunUnit(Unit unit) {
  UnitResult result;
  result.started = clock_->Now();
  absl::StatusOr<Rows> rows;
  bool threw = true;
  {
    // The captures go before the executor does, should this unit end it.
    Unit owned = std::move(unit);
    rows = Guarded("a unit", [&owned, &threw] {
      absl::StatusOr<Rows> returned = std::move(owned)();
      threw = false;
      return returned;
    });
  }
  if (!rows.ok()) {
    if (threw || ReasonOf(rows.status()) == v1::ErrorReason::EXECUTOR_FAILED) {
      FailExecutor(rows.status());
      // Without the reason: that is for those who come later.
      return absl::InternalError(std::string(rows.status().message()));
    }
    return rows.status();
  }
  result.rows = *std::move(rows);
  result.ended = clock_->Now();
  return result;
}

void Pipeline::FailExecutor(const absl::Status& cause) {
  LOG(ERROR) << "the executor failed: " << cause.ToString();
  const std::string text(cause.message());
  life_cycle_->Fail(IsValidUtf8(text) ? text : "the cause is in the log");
  scheduler_->Close(ExecutorFailedError());
  DestroyExecutor();
}

void Pipeline::DestroyExecutor() {
  const absl::Status status = Guarded("destroying the executor", [this] {
    worker_->DestroyExecutor();
    return absl::OkStatus();
  });
  if (!status.ok()) LOG(ERROR) << status.ToString();
}

void Pipeline::Remove(RunImpl* run) {
  absl::MutexLock lock(&mu_);
  runs_.erase(run);
}

}  // namespace omni
