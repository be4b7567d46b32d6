#include "workers/model/tokenizer/fields.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"

namespace omni::tokenizer {

absl::StatusOr<Fields> Fields::Of(const json::Value& value, std::string where) {
  if (!value.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: must be an object", where));
  }
  return Fields(value.object(), std::move(where));
}

const json::Value* Fields::Find(std::string_view key) const {
  for (const json::Member& member : *object_) {
    if (member.first == key) {
      return member.second.is_null() ? nullptr : &member.second;
    }
  }
  return nullptr;
}

absl::StatusOr<std::string> Fields::String(std::string_view key) const {
  const json::Value* value = Find(key);
  if (value == nullptr || !value->is_string()) {
    return WrongType(key, "a string");
  }
  return value->string();
}

absl::StatusOr<uint32_t> Fields::Uint32(std::string_view key) const {
  const json::Value* value = Find(key);
  if (value == nullptr) return WrongType(key, "an integer");
  return ReadId(*value, absl::StrFormat("%s.%s", where_, key));
}

absl::StatusOr<bool> Fields::Bool(std::string_view key) const {
  const json::Value* value = Find(key);
  if (value == nullptr || !value->is_bool()) {
    return WrongType(key, "true or false");
  }
  return value->bool_value();
}

absl::StatusOr<bool> Fields::BoolOr(std::string_view key, bool missing) const {
  if (Find(key) == nullptr) return missing;
  return Bool(key);
}

absl::StatusOr<const json::Array*> Fields::Array(std::string_view key) const {
  const json::Value* value = Find(key);
  if (value == nullptr || !value->is_array()) {
    return WrongType(key, "an array");
  }
  return &value->array();
}

absl::Status Fields::Error(std::string_view message) const {
  return absl::InvalidArgumentError(absl::StrFormat("%s: %s", where_, message));
}

absl::Status Fields::WrongType(std::string_view key,
                               std::string_view wanted) const {
  return Error(absl::StrFormat("\"%s\" must be %s", key, wanted));
}

absl::StatusOr<uint32_t> ReadId(const json::Value& value,
                                std::string_view where) {
  uint32_t id = 0;
  if (!value.is_number() || !absl::SimpleAtoi(value.number().text, &id) ||
      id > kMaxTokenId) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: must be an integer from 0 to %d", where, kMaxTokenId));
  }
  return id;
}

}  // namespace omni::tokenizer
