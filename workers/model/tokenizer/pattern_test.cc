#include "workers/model/tokenizer/pattern.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni::tokenizer {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::HasSubstr;

TEST(PatternTest, WhatBothEnginesReadAlikeIsKept) {
  for (const char* const pattern : {
           R"('s|(?i:'S|[a-z])| ?[^\r\n]+[\r\n]*|(?-i:b))",
           R"((?:a|b)(?=c)(?!d)(?<=e)(?<!f)(?>g)(h))",
           R"(a{2}|b{1,3}?|c{2,}|d++|e*?|f?+)",
           R"(\.\[\]\(\)\{\}\-\/\\\^\$\ \'|\d\D\t\n\r\f\A\z\Z)",
           R"((?i)a|b)",
           "[é-ü]|猫",
       }) {
    EXPECT_THAT(PatternForPcre2(pattern), IsOkAndHolds(pattern));
  }
}

TEST(PatternTest, DifferentSpellingsOfOneMeaningAreRewritten) {
  const struct {
    const char* oniguruma;
    const char* pcre2;
  } kCases[] = {
      {R"(\s+(?!\S))", R"(\p{White_Space}+(?!\P{White_Space}))"},
      {R"([^\s\p{L}])", R"([^\p{White_Space}\p{L}])"},
      {R"(\\s)", R"(\\s)"},
      {R"(\p{Han}\P{Greek}\p{^Thai})", R"(\p{sc:Han}\P{sc:Greek}\P{sc:Thai})"},
      {R"(\p{Letter}\p{Lowercase_Letter}\P{^Nd})", R"(\p{L}\p{Ll}\p{Nd})"},
      {R"(\p{Alphabetic}\p{space})", R"(\p{Alphabetic}\p{White_Space})"},
      {R"([\u30A0-\u30FF]\x41\x{1F600})",
       R"([\x{30A0}-\x{30FF}]\x{41}\x{1F600})"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(PatternForPcre2(c.oniguruma), IsOkAndHolds(c.pcre2));
  }
}

TEST(PatternTest, ConstructsOfTwoMeaningsAreRefusedWithTheirPlace) {
  const struct {
    const char* pattern;
    const char* refused;
  } kCases[] = {
      {R"(a\w)", R"("\w" at byte 1)"},
      {R"(\b)", R"("\b")"},
      {R"(\h)", R"("\h")"},
      {R"(\v)", R"("\v")"},
      {R"(\R)", R"("\R")"},
      {R"(\K)", R"("\K")"},
      {R"((a)\1)", R"("\1" at byte 3)"},
      {R"(a\)", R"("\" at byte 1)"},
      {"[[:space:]]", R"("[:")"},
      {"[a[b]]", R"("[b")"},
      {"[a&&b]", R"("&&")"},
      {"[]a]", R"("]")"},
      {"[^]a]", R"("]")"},
      {"a{,3}", R"("{,3}")"},
      {"a{2}+", R"("{2}+")"},
      {"a{2}?", R"("{2}?")"},
      {"a{", R"("{")"},
      {"a(?i)b", "\"(?i)\""},
      {"(?s:a)", R"("(?s:")"},
      {"(?m)a", "\"(?m)\""},
      {"(?<name>a)", R"("(?<n")"},
      {"(?#a)", R"("(?#a")"},
      {"(*FAIL)", R"("(*")"},
      {R"(\pL)", R"("\pL")"},
      {R"(\p{Klingon})", R"("\p{Klingon}")"},
      {R"(\p{Punct})", R"("\p{Punct}")"},
      {R"(\p{L)", R"("\p{")"},
      {R"((?i:\p{Lu}))", R"("\p{Lu}" at byte 4)"},
      {R"((?i:a(?:\p{Lu})))", R"("\p{Lu}" at byte 8)"},
      {R"((?i)\p{Lu})", R"("\p{Lu}" at byte 4)"},
      {R"(\xE9)", R"("\xE9")"},
      {R"(\x{})", R"("\x{}")"},
      {R"(\u12)", R"("\u")"},
      {R"(\u12G4)", R"("\u12G4")"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.pattern);
    EXPECT_THAT(
        PatternForPcre2(c.pattern),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.refused)));
  }
}

TEST(PatternTest, IgnoringCaseEndsWithItsGroup) {
  EXPECT_THAT(PatternForPcre2(R"((?i:'s(?-i:\p{L}))\p{Lu})"),
              IsOkAndHolds(R"((?i:'s(?-i:\p{L}))\p{Lu})"));
}

}  // namespace
}  // namespace omni::tokenizer
