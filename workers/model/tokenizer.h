#ifndef OMNI_WORKERS_MODEL_TOKENIZER_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace omni {

// DESIGN DRAFT of the interface; the author refines it.
class Tokenizer {
 public:
  static absl::StatusOr<std::unique_ptr<const Tokenizer>> FromFile(
      const std::string& path);
  static absl::StatusOr<std::unique_ptr<const Tokenizer>> FromJson(
      std::string_view text);

  struct EncodeOptions {
    bool add_special_tokens = false;  // Run the file's post-processor.
  };

  // Text must be valid UTF-8 (INVALID_ARGUMENT otherwise).
  absl::StatusOr<std::vector<uint32_t>> Encode(std::string_view text,
                                               EncodeOptions options) const;

  // Id of a vocabulary entry or added token by its content.
  std::optional<uint32_t> TokenId(std::string_view token) const;

  // The first Split pattern of the pre-tokenizer; empty if there is none.
  const std::string& split_pattern() const;

  // Largest id plus one.
  uint32_t vocabulary_size() const;
};

}  // namespace omni

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_H_
