#include "workers/model/tokenizer/added_tokens.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/reader.h"
#include "runtime/testing/status_matchers.h"

namespace omni::tokenizer {
namespace {

using ::omni::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Each segment's text, behind "#id:" for a token.
std::vector<std::string> Split(std::vector<AddedToken> tokens,
                               std::string_view text) {
  const AddedTokenSplitter splitter(std::move(tokens));
  std::vector<std::string> segments;
  for (const Segment& segment : splitter.Split(text)) {
    const std::string content(segment.text);
    segments.push_back(segment.id.has_value()
                           ? absl::StrCat("#", *segment.id, ":", content)
                           : content);
  }
  return segments;
}

TEST(AddedTokensTest, TokensAreFoundAnywhereEvenInsideWords) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "<a>"},
                                          {.id = 2, .content = "é"}};
  EXPECT_THAT(Split(tokens, "x<a>y<a><a>"),
              ElementsAre("x", "#1:<a>", "y", "#1:<a>", "#1:<a>"));
  EXPECT_THAT(Split(tokens, "café<A><a"), ElementsAre("caf", "#2:é", "<A><a"));
  EXPECT_THAT(Split(tokens, ""), IsEmpty());
  EXPECT_THAT(Split({}, "x"), ElementsAre("x"));
}

TEST(AddedTokensTest, LeftmostThenLongestWins) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "ab"},
                                          {.id = 2, .content = "abcd"},
                                          {.id = 3, .content = "bcde"},
                                          {.id = 4, .content = "  "}};
  EXPECT_THAT(Split(tokens, "abcde"), ElementsAre("#2:abcd", "e"));
  EXPECT_THAT(Split(tokens, "abcx"), ElementsAre("#1:ab", "cx"));
  EXPECT_THAT(Split(tokens, "abbcde"), ElementsAre("#1:ab", "#3:bcde"));
  EXPECT_THAT(Split(tokens, "   "), ElementsAre("#4:  ", " "));
}

TEST(AddedTokensTest, EarlierOfTwoAlikeWins) {
  EXPECT_THAT(
      Split({{.id = 1, .content = "a"}, {.id = 2, .content = "a"}}, "a"),
      ElementsAre("#1:a"));
}

TEST(AddedTokensTest, StrippingTokensTakeWhiteSpaceAlong) {
  const std::vector<AddedToken> tokens = {
      {.id = 1, .content = "[L]", .lstrip = true},
      {.id = 2, .content = "[R]", .rstrip = true},
      {.id = 3, .content = "[B]", .lstrip = true, .rstrip = true}};
  EXPECT_THAT(Split(tokens, "a \t\u3000[L] b"),
              ElementsAre("a", "#1: \t\u3000[L]", " b"));
  EXPECT_THAT(Split(tokens, "a [R]\r\n b"),
              ElementsAre("a ", "#2:[R]\r\n ", "b"));
  // What the first has taken is not there for the second.
  EXPECT_THAT(Split(tokens, "[R]  [L]"), ElementsAre("#2:[R]  ", "#1:[L]"));
  EXPECT_THAT(Split(tokens, " [B] [B]"), ElementsAre("#3: [B] ", "#3:[B]"));
}

TEST(AddedTokensTest, TokensInTakenWhiteSpaceAreStillFound) {
  EXPECT_THAT(Split({{.id = 1, .content = "[R]", .rstrip = true},
                     {.id = 2, .content = "\n"}},
                    "[R] \nx"),
              ElementsAre("#1:[R] \n", "#2:\n", "x"));
}

TEST(AddedTokensTest, SingleWordsEndWhereWordsDo) {
  const std::vector<AddedToken> tokens = {
      {.id = 1, .content = "one", .single_word = true},
      {.id = 2, .content = "on"}};
  EXPECT_THAT(Split(tokens, "one"), ElementsAre("#1:one"));
  EXPECT_THAT(Split(tokens, "(one)"), ElementsAre("(", "#1:one", ")"));
  for (const char* const text : {"oneé", "_one", "1one", "one\u0301"}) {
    EXPECT_THAT(Split(tokens, text), ElementsAre(text));
  }
}

TEST(AddedTokensTest, RunsOfStrippingSpacesTakeLinearTime) {
  const AddedTokenSplitter splitter(
      {{.id = 1, .content = " ", .lstrip = true, .rstrip = true}});
  EXPECT_EQ(splitter.Split(std::string(1 << 20, ' ')).size(), 1 << 20);
}

TEST(AddedTokensTest, SectionIsReadInItsOrder) {
  ASSERT_OK_AND_ASSIGN(
      const json::Value section,
      json::Read(R"([{"id": 7, "content": "b", "special": true, "lstrip": true,
                      "rstrip": false, "single_word": false,
                      "normalized": false},
                     {"id": 3, "content": "a", "special": false,
                      "lstrip": false, "rstrip": true, "single_word": true,
                      "normalized": true}])"));
  ASSERT_OK_AND_ASSIGN(const std::vector<AddedToken> tokens,
                       ReadAddedTokens(&section));
  ASSERT_EQ(tokens.size(), 2);
  EXPECT_EQ(tokens[0].id, 7);
  EXPECT_EQ(tokens[0].content, "b");
  EXPECT_TRUE(tokens[0].special);
  EXPECT_TRUE(tokens[0].lstrip);
  EXPECT_FALSE(tokens[0].normalized);
  EXPECT_EQ(tokens[1].id, 3);
  EXPECT_TRUE(tokens[1].rstrip);
  EXPECT_TRUE(tokens[1].single_word);
  EXPECT_TRUE(tokens[1].normalized);
  EXPECT_THAT(ReadAddedTokens(nullptr), testing::IsOkAndHolds(IsEmpty()));
}

TEST(AddedTokensTest, BrokenEntriesAreRefusedWithTheirPlace) {
  const std::string good =
      R"({"id": 7, "content": "b", "special": true, "lstrip": true,
          "rstrip": false, "single_word": false, "normalized": false})";
  const struct {
    std::string section;
    const char* message;
  } kCases[] = {
      {"{}", "added_tokens: must be an array"},
      {"[7]", "added_tokens[0]: must be an object"},
      {"[" + good + ", " + good + "]",
       "added_tokens[1]: \"b\" is listed twice"},
      {"[" + good + R"(, {"id": 8, "content": "c"}])",
       "added_tokens[1]: \"special\" must be"},
      {R"([{"id": -1, "content": "c"}])", "added_tokens[0].id: must be"},
      {R"([{"id": 16777216, "content": "c"}])", "from 0 to 16777215"},
      {R"([{"id": 1, "content": "", "special": true, "lstrip": true,
            "rstrip": false, "single_word": false, "normalized": false}])",
       "\"content\" is empty"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.section);
    ASSERT_OK_AND_ASSIGN(const json::Value section, json::Read(c.section));
    EXPECT_THAT(
        ReadAddedTokens(&section),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

}  // namespace
}  // namespace omni::tokenizer
