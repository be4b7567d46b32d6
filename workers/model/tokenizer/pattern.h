#ifndef OMNI_WORKERS_MODEL_TOKENIZER_PATTERN_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_PATTERN_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace omni::tokenizer {

// Rewrites a regular expression of Oniguruma, the engine that tokenizer files
// are written for, so that PCRE2 (UTF, UCP, newline LF, MULTILINE) finds the
// same matches.
//
// The two differ in what they call white space (U+180E, U+001C to U+001F), in
// scripts (PCRE2 goes by Script_Extensions) and in the spelling of properties
// and code points; these are rewritten. Where the same text means different
// things and no tokenizer needs it (`\w`, `\h`, `[[:space:]]`, `[a&&b]`,
// `a{2}+`, options in the middle of a group, properties under `(?i:`, back
// references and the like), the pattern is refused. Thread-safe.
//
// Not alike: folds of several characters. Under `(?i:` Oniguruma lets "ss"
// match U+00DF, PCRE2 does not.
//
// Errors: INVALID_ARGUMENT with the byte offset and the construct. Syntax
// errors that PCRE2 finds itself are left to it.
absl::StatusOr<std::string> PatternForPcre2(std::string_view pattern);

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_PATTERN_H_
