#include "runtime/base/request_error.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace omni {
namespace {

constexpr char kPayloadUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr size_t kMaxMessageBytes = 1024;
constexpr size_t kMaxQuestionBytes = 64;

absl::StatusCode CodeOf(v1::ErrorReason::Value reason) {
  switch (reason) {
    case v1::ErrorReason::BODY_TOO_LARGE:
    case v1::ErrorReason::QUEUE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case v1::ErrorReason::NOT_READY:
    case v1::ErrorReason::EXECUTOR_FAILED:
    case v1::ErrorReason::DRAINING:
      return absl::StatusCode::kUnavailable;
    case v1::ErrorReason::UNSPECIFIED:
    case v1::ErrorReason::INTERNAL:
      return absl::StatusCode::kInternal;
    case v1::ErrorReason::DEADLINE_PASSED:
      return absl::StatusCode::kDeadlineExceeded;
    case v1::ErrorReason::CALLER_GONE:
      return absl::StatusCode::kCancelled;
    default:
      return absl::StatusCode::kInvalidArgument;
  }
}

}  // namespace

absl::Status RequestError(v1::ErrorReason::Value reason,
                          std::string_view message, ErrorContext context) {
  google::rpc::ErrorInfo info;
  info.set_reason(v1::ErrorReason::Value_Name(reason));
  info.set_domain("omni.v1");
  auto& metadata = *info.mutable_metadata();
  if (context.question.has_value()) {
    metadata["question"] =
        std::string(CutAtCharacter(*context.question, kMaxQuestionBytes));
  }
  if (context.limit.has_value()) {
    metadata["limit"] = absl::StrCat(*context.limit);
  }
  if (context.actual.has_value()) {
    metadata["actual"] = absl::StrCat(*context.actual);
  }
  absl::Status status(CodeOf(reason),
                      std::string(CutAtCharacter(message, kMaxMessageBytes)));
  status.SetPayload(kPayloadUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

std::optional<google::rpc::ErrorInfo> ErrorInfoOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return std::nullopt;
  google::rpc::ErrorInfo info;
  if (!info.ParseFromString(std::string(*payload))) return std::nullopt;
  return info;
}

v1::ErrorReason::Value ReasonOf(const absl::Status& status) {
  v1::ErrorReason::Value reason = v1::ErrorReason::UNSPECIFIED;
  const auto info = ErrorInfoOf(status);
  if (info.has_value()) v1::ErrorReason::Value_Parse(info->reason(), &reason);
  return reason;
}

std::string_view CutAtCharacter(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace omni
