#include "workers/model/tokenizer/unicode.h"

#include "gtest/gtest.h"

namespace omni::tokenizer {
namespace {

TEST(UnicodeTest, ValidUtf8IsAccepted) {
  for (const char* const text :
       {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
        "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80",
        "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsValidUtf8(text)) << text;
  }
  EXPECT_TRUE(IsValidUtf8({"a\0b", 3}));
}

TEST(UnicodeTest, InvalidUtf8IsRejected) {
  for (const char* const text : {
           "\x80",              // A continuation alone.
           "a\xC3",             // Cut off.
           "\xE4\xBD",          // Cut off.
           "\xC0\x80",          // Overlong.
           "\xE0\x9F\xBF",      // Overlong.
           "\xF0\x8F\xBF\xBF",  // Overlong.
           "\xED\xA0\x80",      // A surrogate.
           "\xF4\x90\x80\x80",  // Beyond U+10FFFF.
           "\xF5\x80\x80\x80",  // No such first byte.
           "\xFF",              // No such byte.
       }) {
    EXPECT_FALSE(IsValidUtf8(text)) << text;
  }
}

TEST(UnicodeTest, WhiteSpaceIsTheUnicodeProperty) {
  EXPECT_EQ(LeadingWhiteSpace(" \t\r\n\u0085\u2028\u3000x "), 12);
  EXPECT_EQ(TrailingWhiteSpace(" x\u00a0\v\f "), 5);
  EXPECT_EQ(LeadingWhiteSpace(""), 0);
  EXPECT_EQ(TrailingWhiteSpace("  "), 2);
  // The Mongolian vowel separator, the zero width space and the information
  // separators are not in it.
  for (const char* const text :
       {"\u180e", "\u200b", "\ufeff", "\x1C", "\x1F"}) {
    EXPECT_EQ(LeadingWhiteSpace(text), 0) << text;
    EXPECT_EQ(TrailingWhiteSpace(text), 0) << text;
  }
}

TEST(UnicodeTest, WordCharactersAreLettersMarksDigitsAndJoiners) {
  for (const char* const text :
       {"a", "é", "猫", "\u0301", "7", "\u0663", "_", "\u203f", "\u200d"}) {
    EXPECT_TRUE(StartsWithWordCharacter(text)) << text;
    EXPECT_TRUE(EndsWithWordCharacter(text)) << text;
  }
  for (const char* const text : {"", " ", "-", "\u00bd", "\u20ac", "\u3002"}) {
    EXPECT_FALSE(StartsWithWordCharacter(text)) << text;
    EXPECT_FALSE(EndsWithWordCharacter(text)) << text;
  }
  EXPECT_TRUE(StartsWithWordCharacter("é-"));
  EXPECT_FALSE(EndsWithWordCharacter("é-"));
}

}  // namespace
}  // namespace omni::tokenizer
