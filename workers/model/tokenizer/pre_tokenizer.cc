#include "workers/model/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "workers/model/tokenizer/fields.h"

namespace omni::tokenizer {
namespace {

// What ByteLevel splits by unless the file turns it off.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|)"
    R"(\s+(?!\S)|\s+)";

constexpr size_t kBytes = 256;

struct Spelling {
  std::array<char, 2> utf8 = {};
  size_t size = 0;
};

constexpr Spelling EncodeUtf8(unsigned code_point) {
  if (code_point < 0x80) return {{static_cast<char>(code_point)}, 1};
  return {{static_cast<char>(0xC0 | (code_point >> 6)),
           static_cast<char>(0x80 | (code_point & 0x3F))},
          2};
}

constexpr std::array<Spelling, kBytes> MakeSpellings() {
  std::array<Spelling, kBytes> spellings = {};
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < kBytes; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) ||
                           (byte >= 161 && byte <= 172) || byte >= 174;
    spellings[byte] = EncodeUtf8(printable ? byte : next++);
  }
  return spellings;
}

constexpr std::array<Spelling, kBytes> kSpellings = MakeSpellings();

// A stretch of a piece that is a match, or lies between two.
struct Stretch {
  Range range;
  bool matched = false;
};

}  // namespace

std::string_view ByteSpelling(unsigned char byte) {
  return {kSpellings[byte].utf8.data(), kSpellings[byte].size};
}

absl::StatusOr<PreTokenizer> PreTokenizer::FromJson(
    const json::Value* section) {
  PreTokenizer result;
  if (section != nullptr) {
    RETURN_IF_ERROR(result.Append(*section, "pre_tokenizer"));
  }
  const bool byte_level = std::any_of(
      result.steps_.begin(), result.steps_.end(), [](const Step& step) {
        return std::holds_alternative<ByteLevelStep>(step);
      });
  if (!byte_level) {
    return absl::InvalidArgumentError(
        "pre_tokenizer: only byte-level tokenizers are served, but it has no "
        "ByteLevel");
  }
  return result;
}

absl::Status PreTokenizer::Append(const json::Value& section,
                                  const std::string& where) {
  ASSIGN_OR_RETURN(const Fields fields, Fields::Of(section, where));
  ASSIGN_OR_RETURN(const std::string type, fields.String("type"));
  if (type == "Sequence") {
    ASSIGN_OR_RETURN(const json::Array* const parts,
                     fields.Array("pretokenizers"));
    for (size_t i = 0; i < parts->size(); ++i) {
      RETURN_IF_ERROR(Append(
          (*parts)[i], absl::StrFormat("%s.pretokenizers[%d]", where, i)));
    }
    return absl::OkStatus();
  }
  if (type == "Split") return AppendSplit(section, where);
  if (type == "Digits") {
    ASSIGN_OR_RETURN(const bool individual,
                     fields.BoolOr("individual_digits", false));
    ASSIGN_OR_RETURN(Regex regex, Regex::Compile(R"(\p{N})"));
    steps_.emplace_back(SplitStep{
        .regex = std::move(regex),
        .behavior = individual ? Behavior::kIsolated : Behavior::kContiguous});
    return absl::OkStatus();
  }
  if (type == "ByteLevel") {
    ByteLevelStep step;
    ASSIGN_OR_RETURN(step.add_prefix_space, fields.Bool("add_prefix_space"));
    ASSIGN_OR_RETURN(const bool use_regex, fields.BoolOr("use_regex", true));
    if (use_regex) {
      ASSIGN_OR_RETURN(Regex regex, Regex::Compile(kGpt2Pattern));
      step.split.push_back(SplitStep{.regex = std::move(regex)});
    }
    steps_.emplace_back(std::move(step));
    return absl::OkStatus();
  }
  return fields.Error(absl::StrFormat("type \"%s\" is not served", type));
}

absl::Status PreTokenizer::AppendSplit(const json::Value& section,
                                       const std::string& where) {
  ASSIGN_OR_RETURN(const Fields fields, Fields::Of(section, where));
  ASSIGN_OR_RETURN(const std::string name, fields.String("behavior"));
  ASSIGN_OR_RETURN(const bool invert, fields.BoolOr("invert", false));
  constexpr std::pair<std::string_view, Behavior> kBehaviors[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous},
  };
  std::optional<Behavior> behavior;
  for (const auto& [spelled, value] : kBehaviors) {
    if (spelled == name) behavior = value;
  }
  if (!behavior.has_value()) {
    return fields.Error(absl::StrFormat("behavior \"%s\" is not served", name));
  }

  const json::Value* const pattern = fields.Find("pattern");
  if (pattern == nullptr) return fields.Error("\"pattern\" is missing");
  ASSIGN_OR_RETURN(const Fields kinds,
                   Fields::Of(*pattern, where + ".pattern"));
  const bool literal = kinds.Find("String") != nullptr;
  ASSIGN_OR_RETURN(std::string source,
                   kinds.String(literal ? "String" : "Regex"));
  absl::StatusOr<Regex> regex =
      literal ? Regex::Literal(source) : Regex::Compile(source);
  if (!regex.ok()) return fields.Error(std::string(regex.status().message()));

  if (split_pattern_.empty()) split_pattern_ = std::move(source);
  steps_.emplace_back(SplitStep{
      .regex = *std::move(regex), .behavior = *behavior, .invert = invert});
  return absl::OkStatus();
}

absl::StatusOr<Pieces> PreTokenizer::Split(std::string_view text) const {
  Pieces pieces = {.text = std::string(text), .ranges = {}};
  if (!text.empty()) pieces.ranges.push_back({0, text.size()});
  for (const Step& step : steps_) {
    ASSIGN_OR_RETURN(pieces, std::visit(
                                 [&pieces](const auto& known) {
                                   return Run(known, std::move(pieces));
                                 },
                                 step));
  }
  return pieces;
}

// The rules of each behavior are those of the `tokenizers` library, where an
// empty match counts as a match and an empty word is left out.
void PreTokenizer::AppendWords(const SplitStep& step, Range piece,
                               const std::vector<Range>& matches,
                               std::vector<Range>* words) {
  std::vector<Stretch> stretches;
  stretches.reserve(2 * matches.size() + 1);
  size_t end = piece.begin;
  for (const Range& match : matches) {
    const Range range = {piece.begin + match.begin, piece.begin + match.end};
    if (range.begin != end) {
      stretches.push_back({{end, range.begin}, step.invert});
    }
    stretches.push_back({range, !step.invert});
    end = range.end;
  }
  if (end != piece.end) stretches.push_back({{end, piece.end}, step.invert});

  const size_t first = words->size();
  bool matched = false;
  switch (step.behavior) {
    case Behavior::kRemoved:
      for (const Stretch& stretch : stretches) {
        if (!stretch.matched) words->push_back(stretch.range);
      }
      break;
    case Behavior::kIsolated:
      for (const Stretch& stretch : stretches) words->push_back(stretch.range);
      break;
    case Behavior::kMergedWithPrevious:
    case Behavior::kContiguous:
      for (const Stretch& stretch : stretches) {
        const bool merge = step.behavior == Behavior::kContiguous
                               ? stretch.matched == matched
                               : stretch.matched && !matched;
        if (merge && words->size() > first) {
          words->back().end = stretch.range.end;
        } else {
          words->push_back(stretch.range);
        }
        matched = stretch.matched;
      }
      break;
    case Behavior::kMergedWithNext:
      for (size_t i = stretches.size(); i-- > 0;) {
        const Stretch& stretch = stretches[i];
        if (stretch.matched && !matched && words->size() > first) {
          words->back().begin = stretch.range.begin;
        } else {
          words->push_back(stretch.range);
        }
        matched = stretch.matched;
      }
      std::reverse(words->begin() + static_cast<ptrdiff_t>(first),
                   words->end());
      break;
  }
  words->erase(std::remove_if(
                   words->begin() + static_cast<ptrdiff_t>(first), words->end(),
                   [](Range word) { return word.begin == word.end; }),
               words->end());
}

absl::StatusOr<Pieces> PreTokenizer::Run(const SplitStep& step, Pieces pieces) {
  std::vector<Range> words;
  for (const Range& piece : pieces.ranges) {
    const std::string_view text =
        std::string_view(pieces.text)
            .substr(piece.begin, piece.end - piece.begin);
    ASSIGN_OR_RETURN(const std::vector<Range> matches,
                     step.regex.FindAll(text));
    AppendWords(step, piece, matches, &words);
  }
  pieces.ranges = std::move(words);
  return pieces;
}

absl::StatusOr<Pieces> PreTokenizer::Run(const ByteLevelStep& step,
                                         Pieces pieces) {
  if (step.add_prefix_space) {
    Pieces prefixed;
    prefixed.text.reserve(pieces.text.size() + pieces.ranges.size());
    for (const Range& piece : pieces.ranges) {
      const size_t begin = prefixed.text.size();
      if (pieces.text[piece.begin] != ' ') prefixed.text += ' ';
      prefixed.text.append(pieces.text, piece.begin, piece.end - piece.begin);
      prefixed.ranges.push_back({begin, prefixed.text.size()});
    }
    pieces = std::move(prefixed);
  }
  for (const SplitStep& split : step.split) {
    ASSIGN_OR_RETURN(pieces, Run(split, std::move(pieces)));
  }
  Pieces spelled;
  spelled.text.reserve(pieces.text.size() + pieces.text.size() / 2);
  spelled.ranges.reserve(pieces.ranges.size());
  for (const Range& piece : pieces.ranges) {
    const size_t begin = spelled.text.size();
    for (size_t i = piece.begin; i < piece.end; ++i) {
      spelled.text += ByteSpelling(static_cast<unsigned char>(pieces.text[i]));
    }
    spelled.ranges.push_back({begin, spelled.text.size()});
  }
  return spelled;
}

}  // namespace omni::tokenizer
