#ifndef OMNI_RUNTIME_JSON_JSON_FILE_H_
#define OMNI_RUNTIME_JSON_JSON_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/json/value.h"

namespace omni {

// The whole file, of at most `max_bytes` bytes.
//
// Errors: NOT_FOUND if there is no such file, INVALID_ARGUMENT if it is larger,
// UNKNOWN if it cannot be read. Messages begin with the path.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes);

// Errors: UNKNOWN. Messages begin with the path.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

// Parses the text of a file that is named in messages: strict JSON without
// repeated keys.
//
// Errors: INVALID_ARGUMENT. Messages begin with `where`.
absl::StatusOr<json::Value> ParseJson(std::string_view text,
                                      std::string_view where);

// ReadFile, then ParseJson.
absl::StatusOr<json::Value> ReadJsonFile(const std::string& path,
                                         int64_t max_bytes = int64_t{16} << 20);

// The value if it is a number spelled as an integer that fits.
std::optional<int64_t> IntegerOf(const json::Value& value);

// The value if it is a number within the range of a double.
std::optional<double> DoubleOf(const json::Value& value);

}  // namespace omni

#endif  // OMNI_RUNTIME_JSON_JSON_FILE_H_
