#ifndef OMNI_WORKERS_MODEL_TOKENIZER_BPE_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_BPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/json/value.h"

namespace omni::tokenizer {

// The `model` section: byte-pair encoding over a byte-level vocabulary. Starts
// with one symbol for each character and joins the pair of neighbours with the
// lowest rank, the leftmost of equals, until no pair has one.
//
// A word of n characters takes O(n log n) time and O(n) memory. Thread-safe.
class Bpe {
 public:
  // Buffers that are used again from word to word; any state is a fresh one.
  // Not thread-safe.
  class Workspace {
   private:
    friend class Bpe;

    static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

    struct Symbol {
      uint32_t id = 0;
      uint32_t previous = kNone;
      uint32_t next = kNone;
      // The merge of this symbol with the next one, kNone if there is none.
      uint32_t rank = kNone;
      uint32_t merged = 0;
    };

    std::vector<Symbol> symbols_;
    // Rank in the high half, the left symbol's index in the low half: the
    // smallest is merged first. Entries whose symbol has since changed stay in
    // and are skipped.
    std::vector<uint64_t> queue_;
  };

  // Takes the section apart, so that no string is copied. Merges are "a b"
  // strings or pairs; of a repeated merge the last rank counts.
  //
  // Errors: INVALID_ARGUMENT for another type than BPE, for dropout,
  // byte_fallback, subword prefixes and suffixes, a byte of UTF-8 without
  // an entry, an id that two entries share, and merges of or into unknown
  // tokens. An unknown-token setting is accepted: nothing is unknown where each
  // byte has an entry.
  static absl::StatusOr<Bpe> FromJson(json::Value section);

  // Appends the ids of `word`, which must be spelled in the byte alphabet.
  void Encode(std::string_view word, Workspace& workspace,
              std::vector<uint32_t>& ids) const;

  // The id of an entry as the file spells it.
  std::optional<uint32_t> TokenId(std::string_view token) const;

  // Largest id plus one.
  uint32_t size() const { return size_; }

 private:
  struct Merge {
    uint32_t rank = 0;
    uint32_t id = 0;
  };

  absl::Status ReadVocabulary(json::Value* vocabulary);
  absl::Status ReadMerges(const json::Array& merges);
  absl::Status ReadAlphabet();

  // Sets what merging the symbol at `index` with the next one would give, and
  // queues it.
  void Offer(uint32_t index, Workspace& workspace) const;

  absl::flat_hash_map<std::string, uint32_t> vocabulary_;
  // By the pair's ids, the left one in the high half.
  absl::flat_hash_map<uint64_t, Merge> merges_;
  // Ids of the characters of the byte alphabet, by code point.
  std::array<uint32_t, 0x144> alphabet_ = {};
  bool ignore_merges_ = false;
  uint32_t size_ = 0;
};

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_BPE_H_
