#ifndef OMNI_WORKERS_MODEL_TOKENIZER_FIELDS_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/json/value.h"

namespace omni::tokenizer {

// Reads the members of one object of a tokenizer file, so that every error
// says where in the file it is, such as "pre_tokenizer.pretokenizers[0]".
//
// Keeps a reference to the object. Thread-safe.
//
// Errors: INVALID_ARGUMENT for a member that is missing or of another type.
class Fields {
 public:
  static absl::StatusOr<Fields> Of(const json::Value& value, std::string where);

  // The member's value; a null pointer if it is missing or null.
  const json::Value* Find(std::string_view key) const;

  absl::StatusOr<std::string> String(std::string_view key) const;
  absl::StatusOr<uint32_t> Uint32(std::string_view key) const;
  absl::StatusOr<bool> Bool(std::string_view key) const;
  absl::StatusOr<bool> BoolOr(std::string_view key, bool missing) const;
  // Never a null pointer.
  absl::StatusOr<const json::Array*> Array(std::string_view key) const;

  const std::string& where() const { return where_; }

  // An INVALID_ARGUMENT that begins with `where`.
  absl::Status Error(std::string_view message) const;

 private:
  Fields(const json::Object& object, std::string where)
      : object_(&object), where_(std::move(where)) {}

  absl::Status WrongType(std::string_view key, std::string_view wanted) const;

  const json::Object* object_;
  std::string where_;
};

// The number as a token id.
//
// Errors: INVALID_ARGUMENT unless `value` is an integer of 32 bits, at most
// kMaxTokenId.
absl::StatusOr<uint32_t> ReadId(const json::Value& value,
                                std::string_view where);

// Ids beyond this are refused, so that vocabulary_size() cannot overflow and a
// table indexed by id stays small.
inline constexpr uint32_t kMaxTokenId = (uint32_t{1} << 24) - 1;

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_FIELDS_H_
