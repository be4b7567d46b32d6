#include "runtime/scheduler/serial_scheduler.h"

#include "absl/strings/str_format.h"
#include "runtime/base/request_error.h"
#include "runtime/base/status_macros.h"

namespace omni {

constexpr int kMaxMaxPending = 1'000'000;

absl::StatusOr<std::shared_ptr<SerialScheduler>> SerialScheduler::Create(
    Options options) {
  if (options.max_pending < 1 || options.max_pending > kMaxMaxPending) {
    return absl::InvalidArgumentError(
        absl::StrFormat("max_pending is %d; it must be from 1 to %d",
                        options.max_pending, kMaxMaxPending));
  }
  std::shared_ptr<SerialScheduler> scheduler(new SerialScheduler(options));
  AdmissionQueue* const queue = scheduler->queue_.get();
  ASSIGN_OR_RETURN(scheduler->executor_thread_,
                   Thread::Start("executor", [queue] { queue->RunUnits(); }));
  ASSIGN_OR_RETURN(
      scheduler->deadline_thread_,
      Thread::Start("deadlines", [queue] { queue->EndExpiredUnits(); }));
  return scheduler;
}

SerialScheduler::SerialScheduler(Options options)
    : queue_(std::make_shared<AdmissionQueue>(options.max_pending,
                                              options.clock)) {}

SerialScheduler::~SerialScheduler() {
  queue_->Close(absl::CancelledError("the scheduler has stopped"));
  queue_->Stop();
}

absl::StatusOr<RequestSlot> SerialScheduler::Reserve() {
  return queue_->Reserve();
}

void SerialScheduler::Close(const absl::Status& reason) {
  queue_->Close(reason);
}

SchedulerStats SerialScheduler::stats() const { return queue_->stats(); }

absl::Status SerialScheduler::ThrownError() {
  return RequestError(v1::ErrorReason::INTERNAL, "execution task failed");
}

}  // namespace omni
