#include "runtime/server/unary_call.h"

#include <exception>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "runtime/base/logging.h"
#include "runtime/server/status_mapping.h"

namespace omni {
namespace {

// Runs `f`; what it throws as INTERNAL, which is logged.
template <typename F>
absl::Status Guarded(F&& f) {
  absl::Status thrown;
  try {
    f();
    return thrown;
  } catch (const std::exception& e) {
    thrown = absl::InternalError(absl::StrFormat("a call threw: %s", e.what()));
  } catch (...) {
    thrown = absl::InternalError("a call threw");
  }
  LOG(ERROR) << thrown.ToString();
  return thrown;
}

}  // namespace

void LiveCalls::Add() {
  absl::MutexLock lock(&mu_);
  ++count_;
}

void LiveCalls::Begin() {
  absl::MutexLock lock(&mu_);
  ++begun_;
}

void LiveCalls::Abandon() {
  absl::MutexLock lock(&mu_);
  ++abandoned_;
}

void LiveCalls::Remove(bool begun, bool abandoned) {
  absl::MutexLock lock(&mu_);
  --count_;
  if (begun) --begun_;
  if (abandoned) --abandoned_;
}

int LiveCalls::count() const {
  absl::MutexLock lock(&mu_);
  return count_;
}

int LiveCalls::abandoned() const {
  absl::MutexLock lock(&mu_);
  return abandoned_;
}

void LiveCalls::AwaitZero() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(
      +[](int* count) { return *count == 0; }, &count_));
}

bool LiveCalls::AwaitNoneBegun(const Clock* clock, absl::Time deadline) {
  const absl::Condition none(this, &LiveCalls::NoneBegun);
  absl::MutexLock lock(&mu_);
  while (!NoneBegun() && clock->Now() < deadline) {
    clock->AwaitUntil(&mu_, none, deadline);
  }
  return NoneBegun();
}

void UnaryCall::HandleTag(void* tag, bool ok) {
  const Tag copy = *static_cast<Tag*>(tag);
  const absl::Status thrown =
      Guarded([&copy, ok] { copy.call->Handle(copy.event, ok); });
  // Only taking the request throws up to here, and leaves the call as it was
  // before its one FinishOnce.
  if (!thrown.ok()) copy.call->FinishOnce(thrown);
}

void UnaryCall::Arm() {
  context_.AsyncNotifyWhenDone(&done_);
  RequestMethod(&requested_);
}

void UnaryCall::FinishOnce(const absl::Status& status,
                           absl::Duration estimated_wait) {
  const absl::Status seen = ClientStatus(status);
  const grpc::Status sent = ToGrpcStatus(seen);
  const std::optional<int> pushback_ms = RetryPushbackMs(seen, estimated_wait);
  absl::MutexLock lock(&mu_);
  if (finishing_) return;
  finishing_ = true;
  if (pushback_ms.has_value()) {
    context_.AddTrailingMetadata("grpc-retry-pushback-ms",
                                 absl::StrFormat("%d", *pushback_ms));
  }
  // Both tags may have been handled before this returns; the last of them
  // waits for mu_ before it deletes the call.
  if (sent.ok()) {
    SendResponse(&finished_);
  } else {
    SendError(sent, &finished_);
  }
}

void UnaryCall::Handle(Event event, bool ok) {
  switch (event) {
    case Event::kRequested:
      return HandleRequested(ok);
    case Event::kDone:
      return HandleDone();
    case Event::kFinished:
      // Not ok means that the peer left, which the done tag tells, too.
      return HandleFinished();
  }
}

void UnaryCall::HandleRequested(bool ok) {
  if (!ok) {
    // The server goes down. The call never began: no done tag will come.
    delete this;
    return;
  }
  begun_ = true;
  live_->Begin();
  ArmReplacement();
  OnRequest();
}

void UnaryCall::HandleDone() {
  // Valid now, and only now for everybody but the probe of the scheduler.
  if (context_.IsCancelled()) {
    // If it throws, whoever has the request still finishes the call, and may do
    // so only once: the tag counts as handled, or the call would never go.
    Guarded([this] { OnCallerGone(); }).IgnoreError();
    abandoned_ = true;
    live_->Abandon();
  }
  bool last;
  {
    absl::MutexLock lock(&mu_);
    done_seen_ = true;
    last = finished_seen_;
  }
  if (last) delete this;
}

void UnaryCall::HandleFinished() {
  bool last;
  {
    absl::MutexLock lock(&mu_);
    finished_seen_ = true;
    last = done_seen_;
  }
  if (last) delete this;
}

}  // namespace omni
