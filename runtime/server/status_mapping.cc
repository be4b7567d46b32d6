#include "runtime/server/status_mapping.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "omni/v1/decision.pb.h"
#include "runtime/base/request_error.h"
#include "runtime/base/utf8.h"

namespace omni {
namespace {

constexpr int64_t kMinPushbackMs = 50;
constexpr int64_t kMaxPushbackMs = 5000;

grpc::StatusCode CodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return grpc::StatusCode::OK;
    case absl::StatusCode::kCancelled:
      return grpc::StatusCode::CANCELLED;
    case absl::StatusCode::kInvalidArgument:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case absl::StatusCode::kDeadlineExceeded:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case absl::StatusCode::kResourceExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case absl::StatusCode::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    default:  // No reason of the contract has another code.
      return grpc::StatusCode::INTERNAL;
  }
}

// Every byte of a trailer may take three on the wire, and a client gives up at
// 8 KiB, with an error of its own.
constexpr size_t kMaxMessageBytes = 1024;

bool CanBeSent(const absl::Status& status, const google::rpc::ErrorInfo& info) {
  for (const auto& [key, value] : info.metadata()) {
    if (!IsValidUtf8(value)) return false;
  }
  return status.message().size() <= kMaxMessageBytes &&
         IsValidUtf8(std::string(status.message()));
}

}  // namespace

absl::Status ClientStatus(const absl::Status& status) {
  if (status.ok()) return status;
  const auto info = ErrorInfoOf(status);
  if (info.has_value() && CanBeSent(status, *info)) return status;
  return RequestError(v1::ErrorReason::INTERNAL,
                      "the worker failed; the cause is in its log");
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const grpc::StatusCode code = CodeOf(status.code());
  const std::string message(status.message());
  google::rpc::Status rich;
  rich.set_code(code);
  rich.set_message(message);
  if (const auto info = ErrorInfoOf(status); info.has_value()) {
    rich.add_details()->PackFrom(*info);
  }
  return grpc::Status(code, message, rich.SerializeAsString());
}

std::optional<int> RetryPushbackMs(const absl::Status& status,
                                   absl::Duration estimated_wait) {
  switch (ReasonOf(status)) {
    case v1::ErrorReason::QUEUE_FULL:
      return static_cast<int>(
          std::clamp<int64_t>(absl::ToInt64Milliseconds(estimated_wait),
                              kMinPushbackMs, kMaxPushbackMs));
    case v1::ErrorReason::DRAINING:
    case v1::ErrorReason::EXECUTOR_FAILED:
      return -1;
    default:
      return std::nullopt;
  }
}

}  // namespace omni
