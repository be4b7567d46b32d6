#include "runtime/base/utf8.h"

#include <string_view>

#include "gtest/gtest.h"

namespace omni {
namespace {

TEST(Utf8Test, SeparatesWellFormedFromIllFormedText) {
  const struct {
    const char* name;
    std::string_view text;
    bool valid;
  } cases[] = {
      {"empty", "", true},
      {"ascii", "plain", true},
      {"nul", std::string_view("a\0b", 3), true},
      {"two bytes", "\xC2\x80", true},
      {"three bytes", "\xE2\x82\xAC", true},
      {"last before the surrogates", "\xED\x9F\xBF", true},
      {"first after the surrogates", "\xEE\x80\x80", true},
      {"four bytes", "\xF0\x9F\x98\x80", true},
      {"U+10FFFF", "\xF4\x8F\xBF\xBF", true},
      {"lone trailing byte", "\x80", false},
      {"overlong slash", "\xC0\xAF", false},
      {"overlong two bytes", "\xC1\xBF", false},
      {"overlong three bytes", "\xE0\x9F\xBF", false},
      {"overlong four bytes", "\xF0\x8F\xBF\xBF", false},
      {"surrogate", "\xED\xA0\x80", false},
      {"above U+10FFFF", "\xF4\x90\x80\x80", false},
      {"lead byte that does not exist", "\xF5\x80\x80\x80", false},
      {"cut after the lead byte", "a\xE2", false},
      {"cut before the last byte", "\xE2\x82", false},
      {"ascii instead of a trailing byte", "\xE2\x82z", false},
      {"ascii instead of the second byte", "\xC3z", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(IsValidUtf8(c.text), c.valid);
  }
}

}  // namespace
}  // namespace omni
