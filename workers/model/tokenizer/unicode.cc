#include "workers/model/tokenizer/unicode.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace omni::tokenizer {
namespace {

bool IsWordCharacter(UChar32 c) {
  constexpr uint32_t kMarksDigitsAndConnectors =
      U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  return (U_MASK(u_charType(c)) & kMarksDigitsAndConnectors) != 0 ||
         u_hasBinaryProperty(c, UCHAR_ALPHABETIC) != 0 ||
         u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) != 0;
}

bool IsWhiteSpace(UChar32 c) {
  return u_hasBinaryProperty(c, UCHAR_WHITE_SPACE) != 0;
}

// Moves `*position` over the character there. Negative where there is none.
UChar32 Next(std::string_view text, size_t* position) {
  UChar32 c = 0;
  U8_NEXT(text.data(), *position, text.size(), c);
  return c;
}

// Moves `*position` back over the character before it.
UChar32 Previous(std::string_view text, size_t* position) {
  int64_t at = static_cast<int64_t>(*position);
  do {
    --at;
  } while (at > 0 && U8_IS_TRAIL(text[at]));
  *position = static_cast<size_t>(at);
  size_t end = *position;
  return Next(text, &end);
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  for (size_t position = 0; position < text.size();) {
    if (Next(text, &position) < 0) return false;
  }
  return true;
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
}

size_t LeadingWhiteSpace(std::string_view text) {
  size_t length = 0;
  while (length < text.size()) {
    size_t next = length;
    if (!IsWhiteSpace(Next(text, &next))) break;
    length = next;
  }
  return length;
}

size_t TrailingWhiteSpace(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    size_t previous = begin;
    if (!IsWhiteSpace(Previous(text, &previous))) break;
    begin = previous;
  }
  return text.size() - begin;
}

bool StartsWithWordCharacter(std::string_view text) {
  size_t position = 0;
  return !text.empty() && IsWordCharacter(Next(text, &position));
}

bool EndsWithWordCharacter(std::string_view text) {
  size_t position = text.size();
  return !text.empty() && IsWordCharacter(Previous(text, &position));
}

}  // namespace omni::tokenizer
