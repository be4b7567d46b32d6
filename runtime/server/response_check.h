#ifndef OMNI_RUNTIME_SERVER_RESPONSE_CHECK_H_
#define OMNI_RUNTIME_SERVER_RESPONSE_CHECK_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace omni {

// INTERNAL, naming the field, if a `string` anywhere in `message` is not valid
// UTF-8: gRPC would call such a response sent, and the client would find no
// message. `bytes` are not looked at.
absl::Status CheckStringsAreUtf8(const google::protobuf::Message& message);

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_RESPONSE_CHECK_H_
