#ifndef OMNI_RUNTIME_BASE_REQUEST_ERROR_H_
#define OMNI_RUNTIME_BASE_REQUEST_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/rpc/error_details.pb.h"
#include "omni/v1/decision.pb.h"

namespace omni {

// What a client may learn about an error beside its text.
struct ErrorContext {
  // Id of the offending question; cut to 64 bytes at a character.
  std::optional<std::string> question = std::nullopt;
  // The limit that was broken and the value that broke it.
  std::optional<int64_t> limit = std::nullopt;
  std::optional<int64_t> actual = std::nullopt;
};

// An error of one request: the code that belongs to `reason`, the message (cut
// to 1 KiB at a character; no state, instructions or labels in it), and a
// google.rpc.ErrorInfo of domain "omni.v1" as payload. The server hands all
// three to the client unchanged.
absl::Status RequestError(v1::ErrorReason::Value reason,
                          std::string_view message, ErrorContext context = {});

// The ErrorInfo that RequestError attached; nullopt for any other status.
std::optional<google::rpc::ErrorInfo> ErrorInfoOf(const absl::Status& status);

// The reason that RequestError attached; UNSPECIFIED for any other status.
v1::ErrorReason::Value ReasonOf(const absl::Status& status);

// The longest prefix of `text` that has at most `max_bytes` bytes and does not
// end inside a UTF-8 character.
std::string_view CutAtCharacter(std::string_view text, size_t max_bytes);

}  // namespace omni

#endif  // OMNI_RUNTIME_BASE_REQUEST_ERROR_H_
