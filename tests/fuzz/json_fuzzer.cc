// Reads the input as JSON in both dialects: what is accepted has to come back
// from its renderings, and from the typed form where there is one.

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

void CheckRenderings(const Value& value, Dialect dialect) {
  // Laya's reader merges repeated keys below the top, so none is left.
  const absl::StatusOr<Value> verbatim =
      Read(DumpVerbatim(value), {.dialect = dialect});
  Require(verbatim.ok() && *verbatim == value, "verbatim text reads back");
  for (const KeyOrder order : {KeyOrder::kRequest, KeyOrder::kSorted}) {
    const std::string text = Dump(value, dialect, order);
    const absl::StatusOr<Value> again = Read(text, {.dialect = dialect});
    Require(again.ok(), "rendered text reads back");
    Require(Dump(*again, dialect, order) == text, "rendering is stable");
  }
}

void CheckTypedForm(const Value& value, Dialect dialect) {
  const absl::StatusOr<v1::DecideRequest> request = ToRequest(value, dialect);
  if (!request.ok()) return;
  v1::DecideRequest received;
  Require(received.ParseFromString(request->SerializeAsString()),
          "strings of the typed form are UTF-8");
  const absl::StatusOr<Value> form = FromRequest(received, dialect);
  Require(form.ok(), "the typed form has a JSON form");
  const absl::StatusOr<v1::DecideRequest> again = ToRequest(*form, dialect);
  Require(again.ok(), "the JSON form has a typed form");
  const absl::StatusOr<Value> same = FromRequest(*again, dialect);
  Require(same.ok() && *same == *form, "the JSON form is stable");
}

void CheckDialect(std::string_view text, Dialect dialect) {
  const absl::StatusOr<Value> value = Read(text, {.dialect = dialect});
  if (!value.ok()) {
    Require(ReasonOf(value.status()) == v1::ErrorReason::MALFORMED_JSON ||
                ReasonOf(value.status()) == v1::ErrorReason::DUPLICATE_KEY,
            "an error has one of two reasons");
    return;
  }
  CheckRenderings(*value, dialect);
  CheckTypedForm(*value, dialect);
}

void Check(std::string_view text) {
  CheckDialect(text, Dialect::kStrict);
  CheckDialect(text, Dialect::kLaya);
  if (Read(text, {.dialect = Dialect::kStrict}).ok()) {
    Require(Read(text, {.dialect = Dialect::kLaya}).ok(),
            "Laya's dialect takes all that the strict one takes");
  }
}

}  // namespace
}  // namespace omni::json

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  omni::json::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
