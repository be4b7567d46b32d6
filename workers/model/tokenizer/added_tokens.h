#ifndef OMNI_WORKERS_MODEL_TOKENIZER_ADDED_TOKENS_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_ADDED_TOKENS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/json/value.h"

namespace omni::tokenizer {

// One entry of `added_tokens`.
struct AddedToken {
  uint32_t id = 0;
  std::string content;
  bool special = false;
  bool lstrip = false;       // Takes the white space to its left along.
  bool rstrip = false;       // Takes the white space to its right along.
  bool single_word = false;  // Found only where no word goes on beside it.
  bool normalized = false;   // Looked for in the normalized text.
};

// The `added_tokens` section, in the file's order; empty for a null pointer.
//
// Errors: INVALID_ARGUMENT for an entry that is incomplete, empty or repeated.
absl::StatusOr<std::vector<AddedToken>> ReadAddedTokens(
    const json::Value* section);

// Part of a text: an added token, or what lies before, between and after.
struct Segment {
  std::optional<uint32_t> id;  // The token's.
  std::string_view text;       // With the white space that the token took.
};

// Finds added tokens in texts: the leftmost, and of those that begin there the
// longest. Everything else about a match (which white space it takes, that a
// match given up for single_word still hides those inside it) follows the
// `tokenizers` library.
//
// Time is at most the text's length times the longest token's. Thread-safe.
class AddedTokenSplitter {
 public:
  // Of two tokens with one content the earlier counts.
  explicit AddedTokenSplitter(std::vector<AddedToken> tokens);

  // Views into `text`, which must be valid UTF-8; none is empty.
  std::vector<Segment> Split(std::string_view text) const;

 private:
  struct Match {
    size_t token;  // Index of tokens_.
    size_t begin;
    size_t end;
  };

  // The first match at or after `from`.
  std::optional<Match> Find(std::string_view text, size_t from) const;

  std::vector<AddedToken> tokens_;
  // A trie: node and byte to the next node. Node 0 is the root.
  absl::flat_hash_map<uint64_t, uint32_t> children_;
  // The token that ends at a node.
  std::vector<std::optional<size_t>> ends_;
  // Bytes that a token begins with.
  std::array<bool, 256> begins_ = {};
};

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_ADDED_TOKENS_H_
