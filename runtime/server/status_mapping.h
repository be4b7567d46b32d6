#ifndef OMNI_RUNTIME_SERVER_STATUS_MAPPING_H_
#define OMNI_RUNTIME_SERVER_STATUS_MAPPING_H_

// The one place where a status becomes what gRPC sends; no other file names
// grpc::StatusCode.

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace omni {

// The status that a client may see. A RequestError stays as it is. Anything
// else becomes the RequestError INTERNAL with a fixed text, and so does what
// could not be sent: text that is not valid UTF-8, or a message above 1 KiB.
absl::Status ClientStatus(const absl::Status& status);

// `status` with its code, its message and, as status details, a serialized
// google.rpc.Status that holds its ErrorInfo. Only for statuses that
// ClientStatus returned.
grpc::Status ToGrpcStatus(const absl::Status& status);

// What the trailer `grpc-retry-pushback-ms` of an error tells a client that
// retries by itself: for QUEUE_FULL the estimated wait, at least 50 and at most
// 5000 ms; -1, do not retry here, for DRAINING and EXECUTOR_FAILED; nullopt, no
// trailer, for the rest.
std::optional<int> RetryPushbackMs(const absl::Status& status,
                                   absl::Duration estimated_wait);

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_STATUS_MAPPING_H_
