#ifndef OMNI_RUNTIME_JSON_VALUE_H_
#define OMNI_RUNTIME_JSON_VALUE_H_

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace omni::json {

class Value;

// A number as it was spelled, so that no digit is lost.
struct Number {
  // A number of the JSON grammar, such as "-0" or "1.50e3".
  std::string text;

  friend bool operator==(const Number& a, const Number& b) = default;
};

using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
// Members in the order of the text. Keys are unique where the dialect rejects
// repeated keys.
using Object = std::vector<Member>;

// One JSON value that keeps key order and the spelling of numbers.
//
// A regular type: copies are deep. Strings are valid UTF-8 when the value came
// from the reader. Destruction does not recurse deeper than the reader's depth
// limit. Thread-compatible.
class Value {
 public:
  Value() = default;                                        // null
  Value(bool value) : value_(value) {}                      // NOLINT
  Value(Number value) : value_(std::move(value)) {}         // NOLINT
  Value(std::string value) : value_(std::move(value)) {}    // NOLINT
  Value(const char* value) : value_(std::string(value)) {}  // NOLINT
  Value(Array value) : value_(std::move(value)) {}          // NOLINT
  Value(Object value) : value_(std::move(value)) {}         // NOLINT

  bool is_null() const { return Holds<std::monostate>(); }
  bool is_bool() const { return Holds<bool>(); }
  bool is_number() const { return Holds<Number>(); }
  bool is_string() const { return Holds<std::string>(); }
  bool is_array() const { return Holds<Array>(); }
  bool is_object() const { return Holds<Object>(); }

  // Each requires the matching is_...().
  bool bool_value() const { return std::get<bool>(value_); }
  const Number& number() const { return std::get<Number>(value_); }
  const std::string& string() const { return std::get<std::string>(value_); }
  const Array& array() const { return std::get<Array>(value_); }
  const Object& object() const { return std::get<Object>(value_); }
  Array& array() { return std::get<Array>(value_); }
  Object& object() { return std::get<Object>(value_); }

  // The member's value; null pointer if this is no object or has no such key.
  // The last one counts where keys repeat. Linear in the number of members.
  const Value* Find(std::string_view key) const;

  // Equal type, order, strings and spelling of numbers.
  friend bool operator==(const Value& a, const Value& b);

 private:
  template <typename T>
  bool Holds() const {
    return std::holds_alternative<T>(value_);
  }

  std::variant<std::monostate, bool, Number, std::string, Array, Object> value_;
};

}  // namespace omni::json

#endif  // OMNI_RUNTIME_JSON_VALUE_H_
