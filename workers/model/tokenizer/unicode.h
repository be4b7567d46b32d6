#ifndef OMNI_WORKERS_MODEL_TOKENIZER_UNICODE_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_UNICODE_H_

#include <string_view>

namespace omni::tokenizer {

// All functions are thread-safe. Character properties are those of the
// system's ICU.

// Whether `text` is UTF-8 as Unicode defines it: no surrogates, no overlong
// forms, nothing above U+10FFFF.
bool IsValidUtf8(std::string_view text);

bool IsAscii(std::string_view text);

// The next four take valid UTF-8.

// Bytes of White_Space characters that `text` begins or ends with.
size_t LeadingWhiteSpace(std::string_view text);
size_t TrailingWhiteSpace(std::string_view text);

// Whether the first or last character is one of a word: Alphabetic, Mark,
// Decimal_Number, Connector_Punctuation or Join_Control (Unicode Technical
// Standard 18, annex C). False for an empty text.
bool StartsWithWordCharacter(std::string_view text);
bool EndsWithWordCharacter(std::string_view text);

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_UNICODE_H_
