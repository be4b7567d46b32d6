#ifndef OMNI_WORKERS_MODEL_TOKENIZER_REGEX_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_REGEX_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// PCRE2's type of a compiled pattern, declared here to keep its macros out.
struct pcre2_real_code_8;

namespace omni::tokenizer {

// Part of a text, in bytes.
struct Range {
  size_t begin = 0;
  size_t end = 0;

  friend bool operator==(const Range& a, const Range& b) = default;
};

// A Unicode-aware regular expression as tokenizer files have them, run by
// PCRE2's compiler to machine code where the processor allows it.
//
// Copies share one compiled pattern. Thread-safe.
class Regex {
 public:
  // A pattern in Oniguruma's syntax; see PatternForPcre2 for what is served.
  //
  // Errors: INVALID_ARGUMENT with the reason and the pattern.
  static absl::StatusOr<Regex> Compile(std::string_view pattern);

  // Matches `text` itself. Errors: INVALID_ARGUMENT if it is empty.
  static absl::StatusOr<Regex> Literal(std::string_view text);

  // All matches from left to right, each beginning where the one before it
  // ended or later. A match without characters does not follow another match
  // immediately.
  //
  // `text` must be valid UTF-8. Errors: RESOURCE_EXHAUSTED if the pattern
  // backtracks more than any sensible one does on a text of this length.
  absl::StatusOr<std::vector<Range>> FindAll(std::string_view text) const;

 private:
  explicit Regex(std::shared_ptr<const pcre2_real_code_8> code)
      : code_(std::move(code)) {}

  static absl::StatusOr<Regex> Build(std::string_view source,
                                     std::string_view shown, bool literal);

  std::shared_ptr<const pcre2_real_code_8> code_;
};

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_REGEX_H_
