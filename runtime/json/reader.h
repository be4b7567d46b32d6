#ifndef OMNI_RUNTIME_JSON_READER_H_
#define OMNI_RUNTIME_JSON_READER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/json/value.h"

namespace omni::json {

// How a worker's requests are read and rendered.
enum class Dialect {
  // Cua-S1 and Open-Jev: a repeated key is an error at any depth; integers
  // beyond 64 bits are doubles.
  kStrict,
  // Laya: below the top-level object a repeated key keeps its first position
  // and its last value; integers keep their digits at any size.
  kLaya,
};

struct ReadOptions {
  Dialect dialect = Dialect::kStrict;
  // Containers that already surround the value: 0 for a whole body.
  int outer_depth = 0;
};

// Containers inside one another that a request may have, its own included.
inline constexpr int kMaxDepth = 127;

// Reads exactly one JSON value, with nothing but white space around it.
//
// Errors: RequestError with MALFORMED_JSON (also invalid UTF-8, a byte-order
// mark, lone surrogates, NaN, numbers out of double range, nesting deeper than
// kMaxDepth) or DUPLICATE_KEY. Messages name the byte offset, never the text.
absl::StatusOr<Value> Read(std::string_view text, ReadOptions options = {});

}  // namespace omni::json

#endif  // OMNI_RUNTIME_JSON_READER_H_
