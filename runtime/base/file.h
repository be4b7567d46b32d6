#ifndef OMNI_RUNTIME_BASE_FILE_H_
#define OMNI_RUNTIME_BASE_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace omni {

// The whole content of a small file.
//
// Errors: NOT_FOUND, PERMISSION_DENIED, ... with the path and the system's
// reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace omni

#endif  // OMNI_RUNTIME_BASE_FILE_H_
