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

// The System One object that says the same as `request`, in its order: model,
// state, questions, lang; in a question type, instructions, criteria, labels.
// Parses every raw JSON it holds. Fields that are absent get no member, but:
// `questions` is always there, an option without description is null, and so
// is a level without value. A question without kind gets no `type`, a noul
// without a meaning of yes or no no `criteria`.
//
// Errors: MALFORMED_JSON and DUPLICATE_KEY as Read, also for a repeated
// question id or option label; the containers that the JSON form puts around a
// piece of content count towards kMaxDepth. The first one in the order of the
// JSON form is reported.
absl::StatusOr<Value> FromRequest(const v1::DecideRequest& request,
                                  Dialect dialect);

// The inverse, for clients that hold System One JSON: FromRequest of the result
// gives `request` again, with its fields in FromRequest's order and without
// those that mean nothing to the dialect's workers. A null that means the same
// as an absent field (`model`, `lang`, `criteria` of a noul, `labels`) becomes
// absent; Laya's choice by a list of labels becomes options without
// descriptions.
//
// Errors: INVALID_ARGUMENT for a value that DecideRequest cannot express, such
// as `questions` that are no object or an unknown `type`. The dialect's workers
// refuse those too; only they can tell which of several faults counts.
absl::StatusOr<v1::DecideRequest> ToRequest(const Value& request,
                                            Dialect dialect);

// The content that says the same as `value`, key order and spelling of numbers
// included; what a score answer's legend takes.
v1::Content ToContent(const Value& value);

// The System One response body, spaced as Dump does. Doubles get the shortest
// digits that read back to the same value; counts are integers; `timing` and
// `state_truncated` are not part of it. Requires finite doubles and, in a
// legend, raw JSON that came from ToContent: it is written as it is.
std::string WriteResponse(const v1::DecideResponse& response);

}  // namespace omni::json

#endif  // OMNI_RUNTIME_JSON_SYSTEM_ONE_H_
