#ifndef OMNI_WORKERS_MODEL_TOKENIZER_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "workers/model/tokenizer/added_tokens.h"
#include "workers/model/tokenizer/bpe.h"
#include "workers/model/tokenizer/normalizer.h"
#include "workers/model/tokenizer/post_processor.h"
#include "workers/model/tokenizer/pre_tokenizer.h"

namespace omni {

// Turns text into token ids as the `tokenizer.json` of a checkpoint says, with
// the same result as the `tokenizers` library that wrote the file.
//
// Flow: added tokens that are not `normalized` are cut out of the text, the
// rest is normalized, the other added tokens are cut out of that, what remains
// is split into words, and byte-level BPE turns each word into ids. Every added
// token is found in the text, also a special one that a user wrote.
//
// `truncation`, `padding` and `decoder` of the file are not read: callers count
// tokens themselves.
//
// Immutable once built; thread-safe.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<const Tokenizer> tokenizer,
//                    Tokenizer::FromFile("model/tokenizer.json"));
//   ASSIGN_OR_RETURN(const std::vector<uint32_t> ids,
//                    tokenizer->Encode("<|im_start|>user\n", {}));
class Tokenizer {
 public:
  // Texts of more bytes are refused.
  static constexpr size_t kMaxTextBytes = size_t{1} << 28;

  // Errors: NOT_FOUND if the file cannot be opened, INVALID_ARGUMENT naming the
  // path and what in it is wrong or not served.
  static absl::StatusOr<std::unique_ptr<const Tokenizer>> FromFile(
      const std::string& path);

  // The same from the file's content.
  static absl::StatusOr<std::unique_ptr<const Tokenizer>> FromJson(
      std::string_view text);

  struct EncodeOptions {
    bool add_special_tokens = false;  // Run the file's post-processor.
  };

  // The ids of `text`, in O(n log n) time of its length.
  //
  // Errors: INVALID_ARGUMENT if `text` is not valid UTF-8 or longer than
  // kMaxTextBytes; RESOURCE_EXHAUSTED if the file's pattern explodes on it.
  absl::StatusOr<std::vector<uint32_t>> Encode(std::string_view text,
                                               EncodeOptions options) const;

  // Id of an added token by its content, or of a vocabulary entry as the file
  // spells it, which is in the byte alphabet: " yes" is "\u0120yes".
  std::optional<uint32_t> TokenId(std::string_view token) const;

  // The first Split pattern of the pre-tokenizer as the file spells it; empty
  // if there is none.
  const std::string& split_pattern() const {
    return parts_.pre_tokenizer.split_pattern();
  }

  // Largest id that Encode can return plus one. An embedding needs at least
  // this many rows; published ones have more.
  uint32_t vocabulary_size() const { return parts_.vocabulary_size; }

 private:
  struct Parts {
    tokenizer::Normalizer normalizer;
    tokenizer::PreTokenizer pre_tokenizer;
    tokenizer::Bpe bpe;
    tokenizer::PostProcessor post_processor;
    // Added tokens to look for before and after normalization.
    tokenizer::AddedTokenSplitter raw;
    tokenizer::AddedTokenSplitter normalized;
    absl::flat_hash_map<std::string, uint32_t> added_ids;
    uint32_t vocabulary_size = 0;
  };

  explicit Tokenizer(Parts parts) : parts_(std::move(parts)) {}

  // Appends the ids of a text that holds no token of `raw`.
  absl::Status EncodeSegment(std::string_view text,
                             tokenizer::Bpe::Workspace& workspace,
                             std::vector<uint32_t>& ids) const;

  const Parts parts_;
};

}  // namespace omni

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_H_
