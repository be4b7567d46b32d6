#include "workers/model/tokenizer/regex.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni::tokenizer {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kSpaces[] = R"(\s+(?!\S)|\s+)";

TEST(RegexTest, MatchesGoFromLeftToRight) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Compile(R"(\p{L}+|\p{N})"));
  EXPECT_THAT(regex.FindAll("ab1 2猫"),
              IsOkAndHolds(ElementsAre(Range{0, 2}, Range{2, 3}, Range{4, 5},
                                       Range{5, 8})));
  EXPECT_THAT(regex.FindAll(""), IsOkAndHolds(IsEmpty()));
}

TEST(RegexTest, RunOfSpacesLeavesItsLastToTheWord) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Compile(kSpaces));
  EXPECT_THAT(regex.FindAll("a   b"),
              IsOkAndHolds(ElementsAre(Range{1, 3}, Range{3, 4})));
  EXPECT_THAT(regex.FindAll("a   "), IsOkAndHolds(ElementsAre(Range{1, 4})));
}

TEST(RegexTest, WhiteSpaceIsTheUnicodeProperty) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Compile(R"(\s)"));
  EXPECT_THAT(regex.FindAll("\u0085\u2028\u00a0\v"), IsOkAndHolds(SizeIs(4)));
  EXPECT_THAT(regex.FindAll("\u180e\u200b\x1C"), IsOkAndHolds(IsEmpty()));
}

TEST(RegexTest, FoldsReachBeyondAscii) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Compile("(?i:'s|'k)"));
  EXPECT_THAT(regex.FindAll("'S 's '\u017f '\u212a"), IsOkAndHolds(SizeIs(4)));
}

TEST(RegexTest, LinesEndAtLineFeeds) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Compile("^.|.$"));
  EXPECT_THAT(regex.FindAll("ab\ncd\r\n"),
              IsOkAndHolds(ElementsAre(Range{0, 1}, Range{1, 2}, Range{3, 4},
                                       Range{5, 6})));
}

TEST(RegexTest, EmptyMatchDoesNotFollowAMatch) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Compile("b*"));
  EXPECT_THAT(regex.FindAll("ébb"),
              IsOkAndHolds(ElementsAre(Range{0, 0}, Range{2, 4})));
  EXPECT_THAT(regex.FindAll("bé"),
              IsOkAndHolds(ElementsAre(Range{0, 1}, Range{3, 3})));
}

TEST(RegexTest, LiteralHasNoSyntax) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Literal("a.\\s["));
  EXPECT_THAT(regex.FindAll("ab a.\\s[ a.\\s["),
              IsOkAndHolds(ElementsAre(Range{3, 8}, Range{9, 14})));
  EXPECT_THAT(Regex::Literal(""), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(RegexTest, WhatDoesNotCompileIsRefusedWithThePattern) {
  for (const char* const pattern :
       {"(a", "a)", "[a", "*", "(?<=a*)b", R"(\w)"}) {
    EXPECT_THAT(Regex::Compile(pattern),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string("pattern \"") + pattern + '"')));
  }
}

// Quadratic matching would take hours here.
TEST(RegexTest, LongRunsTakeLinearTime) {
  ASSERT_OK_AND_ASSIGN(
      const Regex regex,
      Regex::Compile(R"( ?[^\s\p{L}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"));
  const std::string spaces(4 << 20, ' ');
  EXPECT_THAT(
      regex.FindAll(spaces + "a"),
      IsOkAndHolds(ElementsAre(Range{0, spaces.size() - 1},
                               Range{spaces.size() - 1, spaces.size()})));
  std::string mixed;
  for (int i = 0; i < 500'000; ++i) mixed += "\r\n \u3000";
  EXPECT_THAT(regex.FindAll(mixed + "."), IsOkAndHolds(SizeIs(4)));
}

TEST(RegexTest, GroupsMayRepeatMoreOftenThanTheStackHolds) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Compile("(?:a|b)+c"));
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "ab";
  EXPECT_THAT(regex.FindAll(text + "c"),
              IsOkAndHolds(ElementsAre(Range{0, text.size() + 1})));
}

TEST(RegexTest, ExplodingPatternIsEnded) {
  ASSERT_OK_AND_ASSIGN(const Regex regex, Regex::Compile("(?:a+)+(?:a+)+c"));
  EXPECT_THAT(regex.FindAll(std::string(40, 'a') + "b c"),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace omni::tokenizer
