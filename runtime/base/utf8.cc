#include "runtime/base/utf8.h"

#include <cstddef>

namespace omni {

bool IsValidUtf8(std::string_view text) {
  const auto byte = [text](size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  size_t i = 0;
  while (i < text.size()) {
    const unsigned char lead = byte(i++);
    if (lead < 0x80) continue;
    // What the second byte may be excludes overlong forms, surrogates and what
    // lies above U+10FFFF.
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    size_t trailing = 0;
    if (lead >= 0xC2 && lead <= 0xDF) {
      trailing = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      trailing = 2;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      trailing = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else {
      return false;
    }
    if (text.size() - i < trailing) return false;
    if (byte(i) < low || byte(i) > high) return false;
    for (size_t j = 1; j < trailing; ++j) {
      if ((byte(i + j) & 0xC0) != 0x80) return false;
    }
    i += trailing;
  }
  return true;
}

}  // namespace omni
