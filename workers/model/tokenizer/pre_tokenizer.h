#ifndef OMNI_WORKERS_MODEL_TOKENIZER_PRE_TOKENIZER_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_PRE_TOKENIZER_H_

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/json/value.h"
#include "workers/model/tokenizer/regex.h"

namespace omni::tokenizer {

// A text and the parts of it that are words, from left to right, none empty.
// What lies between them was removed.
struct Pieces {
  std::string text;
  std::vector<Range> ranges;
};

// The `pre_tokenizer` section: cuts a normalized text into the words that the
// model encodes one by one, and spells their bytes in the byte alphabet.
//
// Serves Split (a Regex or a String, all five behaviors, invert), Digits,
// ByteLevel and Sequence. Thread-safe.
class PreTokenizer {
 public:
  // `section` is a null pointer where the file has none.
  //
  // Errors: INVALID_ARGUMENT naming what is not served, which includes a
  // section without ByteLevel: only byte-level vocabularies are.
  static absl::StatusOr<PreTokenizer> FromJson(const json::Value* section);

  // `text` must be valid UTF-8.
  //
  // Errors: as Regex::FindAll.
  absl::StatusOr<Pieces> Split(std::string_view text) const;

  // Pattern of the first Split, as the file spells it; empty if there is none.
  const std::string& split_pattern() const { return split_pattern_; }

 private:
  // What becomes of the matches of a split and of the text between them.
  enum class Behavior {
    kRemoved,             // Matches vanish.
    kIsolated,            // Each match is a word of its own.
    kMergedWithPrevious,  // A match ends the word before it.
    kMergedWithNext,      // A match begins the word after it.
    kContiguous,          // Matches that touch form one word.
  };
  struct SplitStep {
    Regex regex;
    Behavior behavior = Behavior::kIsolated;
    bool invert = false;  // The text between the matches counts as matched.
  };
  struct ByteLevelStep {
    bool add_prefix_space = false;
    // GPT-2's pattern; empty where the file says `use_regex: false`.
    std::vector<SplitStep> split;
  };
  using Step = std::variant<SplitStep, ByteLevelStep>;

  absl::Status Append(const json::Value& section, const std::string& where);
  absl::Status AppendSplit(const json::Value& section,
                           const std::string& where);

  static void AppendWords(const SplitStep& step, Range piece,
                          const std::vector<Range>& matches,
                          std::vector<Range>* words);
  static absl::StatusOr<Pieces> Run(const SplitStep& step, Pieces pieces);
  static absl::StatusOr<Pieces> Run(const ByteLevelStep& step, Pieces pieces);

  std::vector<Step> steps_;
  std::string split_pattern_;
};

// How byte-level vocabularies spell `byte`, in UTF-8: printable ASCII and
// Latin-1 as themselves, the others, in increasing order, as U+0100 and on.
std::string_view ByteSpelling(unsigned char byte);

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_PRE_TOKENIZER_H_
