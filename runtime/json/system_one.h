#ifndef OMNI_RUNTIME_JSON_SYSTEM_ONE_H_
#define OMNI_RUNTIME_JSON_SYSTEM_ONE_H_

// The two forms of one contract. A worker validates the JSON form, whichever
// of its methods was called, so that both answer a bad request alike.

#include <string>

#include "absl/status/statusor.h"
#include "omni/v1/decision.pb.h"
#include "runtime/json/reader.h"
#include "runtime/json/value.h"

namespace omni::json {

// The System One object that says the same as `request`, in its order. Parses
// every raw JSON it holds; fields that are absent get no member, a question
// without kind gets no `type`.
//
// Errors: MALFORMED_JSON and DUPLICATE_KEY as Read, also for a repeated
// question id or option label; the containers that the JSON form puts around a
// piece of content count towards kMaxDepth.
absl::StatusOr<Value> FromRequest(const v1::DecideRequest& request,
                                  Dialect dialect);

// The inverse, for clients that hold System One JSON.
//
// Errors: INVALID_ARGUMENT for a value that DecideRequest cannot express, such
// as `questions` that are no object.
absl::StatusOr<v1::DecideRequest> ToRequest(const Value& request,
                                            Dialect dialect);

// The System One response body. Doubles get the shortest digits that read back
// to the same value; counts are integers; `timing` is not part of it.
std::string WriteResponse(const v1::DecideResponse& response);

}  // namespace omni::json

#endif  // OMNI_RUNTIME_JSON_SYSTEM_ONE_H_
