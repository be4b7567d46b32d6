#include "runtime/scheduler/admission_queue.h"

#include "absl/strings/str_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/request_error.h"

namespace omni {
namespace {

absl::Status CallerGone() {
  return RequestError(v1::ErrorReason::CALLER_GONE,
                      "the caller is gone; the request was not executed");
}

absl::Status DeadlinePassed() {
  return RequestError(v1::ErrorReason::DEADLINE_PASSED,
                      "the deadline passed before the request was executed");
}

}  // namespace

struct RequestSlot::Place {
  explicit Place(std::shared_ptr<AdmissionQueue> queue)
      : queue(std::move(queue)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { queue->taken_.fetch_sub(1); }

  const std::shared_ptr<AdmissionQueue> queue;
};

Ticket::Ticket(std::shared_ptr<AdmissionQueue> queue,
               std::shared_ptr<QueuedUnit> unit)
    : queue_(std::move(queue)), unit_(std::move(unit)) {}

bool Ticket::Cancel() {
  return unit_ != nullptr && queue_->Cancel(unit_.get());
}

absl::StatusOr<RequestSlot> AdmissionQueue::Reserve() {
  int taken;
  {
    absl::MutexLock lock(&mu_);
    if (closed_.has_value()) return *closed_;
    taken = taken_.load();
    if (taken < max_pending_) {
      taken_.fetch_add(1);
    } else {
      ++refused_;
    }
  }
  if (taken < max_pending_) {
    return RequestSlot(
        std::make_shared<const RequestSlot::Place>(shared_from_this()));
  }
  return RequestError(
      v1::ErrorReason::QUEUE_FULL,
      absl::StrFormat("the queue is full: %d requests are pending", taken),
      {.limit = max_pending_, .actual = int64_t{taken} + 1});
}

absl::StatusOr<Ticket> AdmissionQueue::Enqueue(
    std::shared_ptr<QueuedUnit> unit) {
  CHECK(unit->slot_.place_ != nullptr &&
        unit->slot_.place_->queue.get() == this)
      << "a unit needs a slot of the scheduler that runs it";
  unit->submitted_ = clock_->Now();
  Ticket ticket(shared_from_this(), unit);
  absl::MutexLock lock(&mu_);
  // The status is copied, and the unit lives on in `ticket` until after unlock.
  if (closed_.has_value()) return *closed_;
  Link(std::move(unit));
  return ticket;
}

bool AdmissionQueue::Cancel(QueuedUnit* unit) {
  std::shared_ptr<QueuedUnit> owned;
  {
    absl::MutexLock lock(&mu_);
    switch (unit->state_) {
      case QueuedUnit::State::kWaiting:
        owned = Unlink(unit, QueuedUnit::State::kEnded);
        break;
      case QueuedUnit::State::kAssigned:
        if (unit->claimed_) return false;
        owned = assigned_;
        AwaitClaimed(unit);
        break;
      case QueuedUnit::State::kDispatched:
      case QueuedUnit::State::kEnded:
        return false;
    }
  }
  End(*owned, CallerGone());
  return true;
}

void AdmissionQueue::Close(const absl::Status& reason) {
  CHECK(!reason.ok());
  std::shared_ptr<QueuedUnit> assigned;
  QueuedUnit* unit;
  {
    absl::MutexLock lock(&mu_);
    if (closed_.has_value()) return;
    closed_ = reason;
    unit = oldest_;
    oldest_ = newest_ = nullptr;
    for (QueuedUnit* u = unit; u != nullptr; u = u->next_) {
      if (u->in_deadline_queue()) deadlines_.Remove(u);
      u->state_ = QueuedUnit::State::kEnded;
    }
    if (assigned_ != nullptr && !assigned_->claimed_) {
      assigned = assigned_;
      AwaitClaimed(assigned.get());
    }
  }
  if (assigned != nullptr) End(*assigned, reason);
  while (unit != nullptr) {
    const std::shared_ptr<QueuedUnit> owned = std::move(unit->self_);
    unit = unit->next_;
    End(*owned, reason);
  }
}

SchedulerStats AdmissionQueue::stats() const {
  absl::MutexLock lock(&mu_);
  return {.depth = taken_.load(),
          .capacity = max_pending_,
          .refused = refused_,
          .units_run = units_run_,
          .wait_time = wait_time_,
          .run_time = run_time_};
}

void AdmissionQueue::RunUnits() {
  while (const std::shared_ptr<QueuedUnit> unit = AssignPermit()) {
    if (Dispatch(*unit)) RunDispatched(*unit);
  }
}

std::shared_ptr<QueuedUnit> AdmissionQueue::AssignPermit() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &AdmissionQueue::HasWork));
  if (oldest_ == nullptr) return nullptr;
  assigned_ = Unlink(oldest_, QueuedUnit::State::kAssigned);
  return assigned_;
}

bool AdmissionQueue::Dispatch(QueuedUnit& unit) {
  const bool gone = unit.caller_gone_ != nullptr && unit.caller_gone_();
  unit.caller_gone_ = nullptr;
  // The deadline comes first: a caller whose deadline passed has gone, too.
  const bool late = clock_->Now() >= unit.deadline_;
  {
    absl::MutexLock lock(&mu_);
    assigned_ = nullptr;  // RunUnits has a reference.
    const bool run = !unit.claimed_ && !late && !gone;
    unit.state_ =
        run ? QueuedUnit::State::kDispatched : QueuedUnit::State::kEnded;
    if (run) return true;
    if (unit.claimed_) return false;
  }
  End(unit, late ? DeadlinePassed() : CallerGone());
  return false;
}

void AdmissionQueue::RunDispatched(QueuedUnit& unit) {
  const absl::Time start = clock_->Now();
  unit.Run([this, &unit, start]() ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::Time end = clock_->Now();
    absl::MutexLock lock(&mu_);
    unit.state_ = QueuedUnit::State::kEnded;
    unit.slot_ = RequestSlot();
    ++units_run_;
    wait_time_ += start - unit.submitted_;
    run_time_ += end - start;
  });
}

void AdmissionQueue::EndExpiredUnits() {
  while (true) {
    std::shared_ptr<QueuedUnit> expired;
    {
      absl::MutexLock lock(&mu_);
      if (stopped_) return;
      // What withdrawn units left behind goes one place at a time, so that
      // nobody waits long for the mutex.
      if (deadlines_.TopIsBlank()) {
        deadlines_.PopTop();
        continue;
      }
      awaited_deadline_ = deadlines_.TopDeadline();
      if (clock_->Now() < awaited_deadline_) {
        clock_->AwaitUntil(
            &mu_, absl::Condition(this, &AdmissionQueue::MustLookAtDeadlines),
            awaited_deadline_);
        continue;  // The top may be another one by now.
      }
      expired = Unlink(static_cast<QueuedUnit*>(deadlines_.PopTop()),
                       QueuedUnit::State::kEnded);
    }
    End(*expired, DeadlinePassed());
  }
}

void AdmissionQueue::Stop() {
  absl::MutexLock lock(&mu_);
  CHECK(closed_.has_value());
  stopped_ = true;
}

void AdmissionQueue::End(QueuedUnit& unit, absl::Status why) {
  unit.caller_gone_ = nullptr;
  unit.Withdraw([&unit] { unit.slot_ = RequestSlot(); }, std::move(why));
}

void AdmissionQueue::AwaitClaimed(QueuedUnit* unit) {
  unit->claimed_ = true;
  mu_.Await(absl::Condition(
      +[](QueuedUnit* u) { return u->state_ != QueuedUnit::State::kAssigned; },
      unit));
}

void AdmissionQueue::Link(std::shared_ptr<QueuedUnit> unit) {
  QueuedUnit* const raw = unit.get();
  raw->self_ = std::move(unit);
  raw->previous_ = newest_;
  (newest_ == nullptr ? oldest_ : newest_->next_) = raw;
  newest_ = raw;
  if (raw->deadline_ != absl::InfiniteFuture()) {
    deadlines_.Insert(raw, raw->deadline_);
  }
}

std::shared_ptr<QueuedUnit> AdmissionQueue::Unlink(QueuedUnit* unit,
                                                   QueuedUnit::State state) {
  (unit->previous_ == nullptr ? oldest_ : unit->previous_->next_) = unit->next_;
  (unit->next_ == nullptr ? newest_ : unit->next_->previous_) = unit->previous_;
  unit->previous_ = unit->next_ = nullptr;
  if (unit->in_deadline_queue()) deadlines_.Remove(unit);
  unit->state_ = state;
  return std::move(unit->self_);
}

bool AdmissionQueue::HasWork() const { return oldest_ != nullptr || stopped_; }

bool AdmissionQueue::MustLookAtDeadlines() const {
  return stopped_ || deadlines_.TopDeadline() < awaited_deadline_;
}

}  // namespace omni
