#ifndef OMNI_RUNTIME_SERVER_LISTEN_ADDRESS_H_
#define OMNI_RUNTIME_SERVER_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/status.h"

namespace omni {

// Whether a server could listen on `address` now, found out by binding it and
// letting go again, or, for a socket file, by looking whether somebody answers.
// So a worker can say so before it loads a model.
//
// Errors: INVALID_ARGUMENT if the address is not "HOST:PORT" or "unix:PATH",
// UNAVAILABLE if it is in use or cannot be bound.
absl::Status CheckCanListen(const std::string& address);

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_LISTEN_ADDRESS_H_
