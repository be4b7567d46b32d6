#include "workers/model/tokenizer/pre_tokenizer.h"

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/reader.h"
#include "runtime/testing/status_matchers.h"

namespace omni::tokenizer {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kByteLevel[] =
    R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})";

absl::StatusOr<PreTokenizer> FromText(const std::string& text) {
  ASSIGN_OR_RETURN(const json::Value section, json::Read(text));
  return PreTokenizer::FromJson(&section);
}

absl::StatusOr<std::vector<std::string>> Words(const std::string& section,
                                               std::string_view text) {
  ASSIGN_OR_RETURN(const PreTokenizer pre_tokenizer, FromText(section));
  ASSIGN_OR_RETURN(const Pieces pieces, pre_tokenizer.Split(text));
  std::vector<std::string> words;
  for (const Range& range : pieces.ranges) {
    words.push_back(pieces.text.substr(range.begin, range.end - range.begin));
  }
  return words;
}

std::string WithByteLevel(const std::string& step) {
  return R"({"type": "Sequence", "pretokenizers": [)" + step + ", " +
         kByteLevel + "]}";
}

std::string Split(const std::string& behavior, bool invert = false) {
  return WithByteLevel(absl::StrFormat(
      R"({"type": "Split", "pattern": {"Regex": "[.,]"}, "behavior": "%s",
          "invert": %s})",
      behavior, invert ? "true" : "false"));
}

TEST(PreTokenizerTest, BytesAreSpelledInTheByteAlphabet) {
  EXPECT_THAT(Words(kByteLevel, "a é\n~\x7F"),
              IsOkAndHolds(ElementsAre("aĠÃ©Ċ~ġ")));
  EXPECT_EQ(ByteSpelling(0), "\u0100");
  EXPECT_EQ(ByteSpelling(0xA0), "\u0142");
  EXPECT_EQ(ByteSpelling(0xAD), "\u0143");
  EXPECT_EQ(ByteSpelling(0xFF), "\u00ff");
  EXPECT_THAT(Words(kByteLevel, ""), IsOkAndHolds(IsEmpty()));
}

TEST(PreTokenizerTest, ByteLevelSplitsAsGpt2DoesUnlessToldNotTo) {
  EXPECT_THAT(
      Words(R"({"type": "ByteLevel", "add_prefix_space": false})",
            "I'm 12 q\u0307!  x"),
      IsOkAndHolds(ElementsAre("I", "'m", "Ġ12", "Ġq", "Ìĩ!", "Ġ", "Ġx")));
}

TEST(PreTokenizerTest, PrefixSpaceIsAddedWhereNoneIs) {
  const std::string section =
      R"({"type": "ByteLevel", "add_prefix_space": true})";
  EXPECT_THAT(Words(section, "a b"), IsOkAndHolds(ElementsAre("Ġa", "Ġb")));
  EXPECT_THAT(Words(section, " a"), IsOkAndHolds(ElementsAre("Ġa")));
  EXPECT_THAT(Words(section, "\ta"), IsOkAndHolds(ElementsAre("Ġ", "ĉ", "a")));
}

TEST(PreTokenizerTest, EachBehaviorTreatsMatchesItsOwnWay) {
  const struct {
    const char* behavior;
    bool invert;
    std::vector<std::string> words;
  } kCases[] = {
      {"Removed", false, {"a", "b", "c"}},
      {"Removed", true, {".", ",", "."}},
      {"Isolated", false, {"a", ".", ",", "b", ".", "c"}},
      {"Isolated", true, {"a", ".", ",", "b", ".", "c"}},
      {"MergedWithPrevious", false, {"a.", ",", "b.", "c"}},
      {"MergedWithPrevious", true, {"a", ".", ",b", ".c"}},
      {"MergedWithNext", false, {"a", ".", ",b", ".c"}},
      {"MergedWithNext", true, {"a.", ",", "b.", "c"}},
      {"Contiguous", false, {"a", ".,", "b", ".", "c"}},
      {"Contiguous", true, {"a", ".,", "b", ".", "c"}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrFormat("%s, invert %d", c.behavior, c.invert));
    EXPECT_THAT(Words(Split(c.behavior, c.invert), "a.,b.c"),
                IsOkAndHolds(c.words));
  }
}

TEST(PreTokenizerTest, DigitsStandAloneOrInRuns) {
  EXPECT_THAT(
      Words(WithByteLevel(R"({"type": "Digits", "individual_digits": true})"),
            "a12b"),
      IsOkAndHolds(ElementsAre("a", "1", "2", "b")));
  EXPECT_THAT(
      Words(WithByteLevel(R"({"type": "Digits", "individual_digits": false})"),
            "a12b"),
      IsOkAndHolds(ElementsAre("a", "12", "b")));
}

TEST(PreTokenizerTest, FirstSplitPatternIsKeptAsItIsSpelled) {
  ASSERT_OK_AND_ASSIGN(const PreTokenizer with,
                       FromText(WithByteLevel(
                           R"({"type": "Split", "pattern": {"Regex": "\\s+"},
              "behavior": "Isolated"},
             {"type": "Split", "pattern": {"String": "x"},
              "behavior": "Isolated"})")));
  EXPECT_EQ(with.split_pattern(), R"(\s+)");
  ASSERT_OK_AND_ASSIGN(const PreTokenizer without, FromText(kByteLevel));
  EXPECT_EQ(without.split_pattern(), "");
}

TEST(PreTokenizerTest, WhatIsNotServedIsRefusedByName) {
  const struct {
    std::string section;
    const char* message;
  } kCases[] = {
      {R"({"type": "Whitespace"})",
       "pre_tokenizer: type \"Whitespace\" is not served"},
      {WithByteLevel(R"({"type": "Metaspace"})"),
       "pre_tokenizer.pretokenizers[0]: type \"Metaspace\" is not served"},
      {Split("Sideways"), "behavior \"Sideways\" is not served"},
      {R"({"type": "Digits", "individual_digits": true})", "no ByteLevel"},
      {R"({"type": "ByteLevel"})", "\"add_prefix_space\" must be"},
      {WithByteLevel(R"({"type": "Split", "behavior": "Isolated"})"),
       "\"pattern\" is missing"},
      {WithByteLevel(R"({"type": "Split", "behavior": "Isolated",
                         "pattern": {"Regex": "(a"}})"),
       "pattern \"(a\": "},
      {WithByteLevel(R"({"type": "Split", "behavior": "Isolated",
                         "pattern": {"Glob": "a"}})"),
       "pre_tokenizer.pretokenizers[0].pattern: \"Regex\" must be"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.section);
    EXPECT_THAT(
        FromText(c.section),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
  EXPECT_THAT(
      PreTokenizer::FromJson(nullptr),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no ByteLevel")));
}

}  // namespace
}  // namespace omni::tokenizer
