#ifndef OMNI_RUNTIME_JSON_RENDER_H_
#define OMNI_RUNTIME_JSON_RENDER_H_

#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "runtime/json/value.h"

namespace omni::json {

enum class KeyOrder {
  kRequest,  // As in the value.
  kSorted,   // By code point, at every level.
};

// The text that Python's json.dumps(value, ensure_ascii=False) gives, which is
// what the models were trained on: ", " and ": " as separators, non-ASCII kept.
// Numbers are spelled as the dialect says. A string is quoted.
std::string Dump(const Value& value, Dialect dialect,
                 KeyOrder order = KeyOrder::kRequest);

// As Dump, with every number as it is spelled in `value`: what hands a value on
// without changing it.
std::string DumpVerbatim(const Value& value);

// J(v) of the contracts: a string as it is, anything else as Dump gives it.
std::string Render(const Value& value, Dialect dialect,
                   KeyOrder order = KeyOrder::kRequest);

// A JSON string literal without its outer quotes; non-ASCII kept.
std::string Escape(std::string_view text);

// Python's repr of a finite double: the shortest digits that read back to the
// same value.
std::string PythonRepr(double value);

}  // namespace omni::json

#endif  // OMNI_RUNTIME_JSON_RENDER_H_
