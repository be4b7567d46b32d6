#ifndef OMNI_WORKERS_MODEL_TOKENIZER_NORMALIZER_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_NORMALIZER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/json/value.h"

namespace omni::tokenizer {

// The `normalizer` section: Unicode normalization forms, one after the other.
//
// Serves NFC, NFD, NFKC, NFKD and Sequence. Thread-safe.
class Normalizer {
 public:
  // `section` is a null pointer where the file has none: texts stay as they
  // are.
  //
  // Errors: INVALID_ARGUMENT naming what is not served.
  static absl::StatusOr<Normalizer> FromJson(const json::Value* section);

  // `text` must be valid UTF-8.
  //
  // Errors: INTERNAL if the Unicode library fails.
  absl::StatusOr<std::string> Normalize(std::string_view text) const;

 private:
  enum class Form { kNfc, kNfd, kNfkc, kNfkd };

  static absl::Status Append(const json::Value& section, std::string where,
                             std::vector<Form>* forms);
  static absl::StatusOr<std::string> Apply(Form form, std::string text);

  std::vector<Form> forms_;
};

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_NORMALIZER_H_
