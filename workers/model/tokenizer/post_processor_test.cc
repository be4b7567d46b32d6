#include "workers/model/tokenizer/post_processor.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/reader.h"
#include "runtime/testing/status_matchers.h"

namespace omni::tokenizer {
namespace {

using ::omni::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kByteLevel[] = R"({"type": "ByteLevel", "trim_offsets": true})";
constexpr char kRoberta[] =
    R"({"type": "RobertaProcessing", "cls": ["<s>", 1], "sep": ["</s>", 2]})";

absl::StatusOr<PostProcessor> FromText(const std::string& text) {
  ASSIGN_OR_RETURN(const json::Value section, json::Read(text));
  return PostProcessor::FromJson(&section);
}

std::string Template(const std::string& single) {
  return R"({"type": "TemplateProcessing", "single": [)" + single +
         R"(], "pair": [],
            "special_tokens": {"[C]": {"id": "[C]", "ids": [5, 6]},
                               "[S]": {"id": "[S]", "ids": [7]}}})";
}

const char kText[] = R"({"Sequence": {"id": "A", "type_id": 0}})";
const char kC[] = R"({"SpecialToken": {"id": "[C]", "type_id": 0}})";
const char kS[] = R"({"SpecialToken": {"id": "[S]", "type_id": 0}})";

TEST(PostProcessorTest, ByteLevelAndNoSectionAddNothing) {
  ASSERT_OK_AND_ASSIGN(const PostProcessor none,
                       PostProcessor::FromJson(nullptr));
  EXPECT_THAT(none.Process({9}), ElementsAre(9));
  EXPECT_EQ(none.size(), 0);
  ASSERT_OK_AND_ASSIGN(const PostProcessor byte_level, FromText(kByteLevel));
  EXPECT_THAT(byte_level.Process({9}), ElementsAre(9));
}

TEST(PostProcessorTest, TemplateSurroundsTheText) {
  ASSERT_OK_AND_ASSIGN(
      const PostProcessor processor,
      FromText(Template(std::string(kC) + "," + kText + "," + kS + "," + kS)));
  EXPECT_THAT(processor.Process({9, 8}), ElementsAre(5, 6, 9, 8, 7, 7));
  EXPECT_THAT(processor.Process({}), ElementsAre(5, 6, 7, 7));
  EXPECT_EQ(processor.size(), 8);
}

TEST(PostProcessorTest, RobertaAndBertAddOneTokenOnEachSide) {
  for (const char* const type : {"RobertaProcessing", "BertProcessing"}) {
    ASSERT_OK_AND_ASSIGN(const PostProcessor processor,
                         FromText(std::string(R"({"type": ")") + type +
                                  R"(", "cls": ["a", 1], "sep": ["b", 2]})"));
    EXPECT_THAT(processor.Process({9}), ElementsAre(1, 9, 2));
  }
}

TEST(PostProcessorTest, SequenceHasOnePartThatAdds) {
  ASSERT_OK_AND_ASSIGN(
      const PostProcessor processor,
      FromText(std::string(R"({"type": "Sequence", "processors": [)") +
               kByteLevel + "," + kRoberta + "]}"));
  EXPECT_THAT(processor.Process({9}), ElementsAre(1, 9, 2));
  EXPECT_THAT(
      FromText(std::string(R"({"type": "Sequence", "processors": [)") +
               kRoberta + "," + kRoberta + "]}"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("post_processor.processors[1]: a second part")));
}

TEST(PostProcessorTest, WhatIsNotServedIsRefusedByName) {
  const struct {
    std::string section;
    const char* message;
  } kCases[] = {
      {R"({"type": "Other"})", "post_processor: type \"Other\" is not served"},
      {R"({"type": "BertProcessing", "cls": ["a", 1]})", "\"sep\" must be"},
      {R"({"type": "BertProcessing", "cls": ["a"], "sep": ["b", 2]})",
       "\"cls\" must be a token and its id"},
      {R"({"type": "BertProcessing", "cls": ["a", "b"], "sep": ["b", 2]})",
       "post_processor.cls: must be an integer"},
      {Template(kC), "lacks the sequence A"},
      {Template(std::string(kText) + "," + kText), "the sequence A once"},
      {Template(R"({"Sequence": {"id": "B"}})"), "the sequence A once"},
      {Template(R"({"Other": {}})"), "Sequence and SpecialToken"},
      {Template(std::string(kText) + R"(, {"SpecialToken": {"id": "[X]"}})"),
       "\"[X]\" is not among its special_tokens"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.section);
    EXPECT_THAT(
        FromText(c.section),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

}  // namespace
}  // namespace omni::tokenizer
