// Reads the input as a serialized DecideRequest: whatever a client sends, its
// JSON form is JSON of the dialect, or there is an error with a reason.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "omni/v1/decision.pb.h"
#include "runtime/base/request_error.h"
#include "runtime/json/reader.h"
#include "runtime/json/render.h"
#include "runtime/json/system_one.h"
#include "runtime/json/value.h"

namespace omni::json {
namespace {

void Require(bool holds, std::string_view claim) {
  if (holds) return;
  std::cerr << "Does not hold: " << claim << "\n";
  std::abort();
}

void Check(const v1::DecideRequest& request, Dialect dialect) {
  const absl::StatusOr<Value> form = FromRequest(request, dialect);
  if (!form.ok()) {
    Require(ReasonOf(form.status()) == v1::ErrorReason::MALFORMED_JSON ||
                ReasonOf(form.status()) == v1::ErrorReason::DUPLICATE_KEY,
            "an error has one of two reasons");
    return;
  }
  const absl::StatusOr<Value> body =
      Read(DumpVerbatim(*form), {.dialect = dialect});
  Require(body.ok() && *body == *form, "the JSON form is a good body");
}

}  // namespace
}  // namespace omni::json

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  omni::v1::DecideRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  omni::json::Check(request, omni::json::Dialect::kStrict);
  omni::json::Check(request, omni::json::Dialect::kLaya);
  return 0;
}
