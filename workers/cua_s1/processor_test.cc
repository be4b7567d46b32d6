#include "workers/cua_s1/processor.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/reader.h"
#include "runtime/testing/status_matchers.h"
#include "workers/cua_s1/prompt.h"

namespace omni::cua_s1 {
namespace {

using ::omni::testing::HasReason;
using ::omni::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The tokenizer of the default checkpoint: Qwen3.5's format, digits and capital
// letters are single tokens.
constexpr char kTokenizerFile[] = "tools/checkpoint/demo/tokenizer.json";

Identity TestIdentity() {
  Identity identity;
  identity.request_model = "test-model";
  identity.system_prompt = "Pick one.";
  return identity;
}

class ProcessorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(tokenizer_, Tokenizer::FromFile(kTokenizerFile));
  }

  absl::StatusOr<std::vector<PreparedQuestion>> Prepare(
      const std::string& body, int max_prompt_tokens = kMaxPromptTokens) {
    ASSIGN_OR_RETURN(const json::Value request, json::Read(body));
    return Processor(TestIdentity(), *tokenizer_, max_prompt_tokens)
        .Prepare(request);
  }

  std::vector<uint32_t> Tokens(const std::string& prompt) {
    return *tokenizer_->Encode(prompt, {});
  }

  // A request with one question whose fields are `fields`.
  static std::string OneQuestion(const std::string& fields,
                                 const std::string& state = R"("s")") {
    return absl::StrFormat(
        R"({"model": "test-model", "state": %s, "questions": {"q": {%s}}})",
        state, fields);
  }

  std::unique_ptr<const Tokenizer> tokenizer_;
};

TEST_F(ProcessorTest, LaysOutEachQuestionInTheOrderOfTheRequest) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<PreparedQuestion> questions,
      Prepare(R"({"model": "test-model", "state": {"b": 1.0, "a": [true, null]},
                  "questions": {
                    "z": {"type": "choice", "instructions": "Which?",
                          "criteria": {"two": "second", "one": null}},
                    "a": {"type": "choice", "instructions": null,
                          "criteria": {"x": {"k": 1e-5}, "y": ""}}}})"));
  ASSERT_EQ(questions.size(), 2u);
  const std::string state = R"({"b": 1.0, "a": [true, null]})";
  EXPECT_EQ(questions[0].id, "z");
  EXPECT_THAT(questions[0].option_keys, ElementsAre("two", "one"));
  EXPECT_EQ(
      questions[0].token_ids,
      Tokens(RenderPrompt("Pick one.", "Which?", state, {"second", "one"})));
  EXPECT_EQ(questions[1].id, "a");
  EXPECT_THAT(questions[1].option_keys, ElementsAre("x", "y"));
  EXPECT_EQ(
      questions[1].token_ids,
      Tokens(RenderPrompt("Pick one.", "", state, {R"({"k": 1e-05})", ""})));
}

TEST_F(ProcessorTest, NullAndEmptyInstructionsMeanNoGoal) {
  ASSERT_OK_AND_ASSIGN(const auto null_goal,
                       Prepare(OneQuestion(R"("type": "choice",
          "instructions": null, "criteria": {"a": null})")));
  ASSERT_OK_AND_ASSIGN(const auto empty_goal,
                       Prepare(OneQuestion(R"("type": "choice",
          "instructions": "", "criteria": {"a": null})")));
  EXPECT_EQ(null_goal[0].token_ids, empty_goal[0].token_ids);
  EXPECT_EQ(null_goal[0].token_ids,
            Tokens(RenderPrompt("Pick one.", "", "s", {"a"})));
}

TEST_F(ProcessorTest, ASpelledSpecialTokenIsThatToken) {
  ASSERT_OK_AND_ASSIGN(
      const auto questions,
      Prepare(OneQuestion(R"("type": "choice", "instructions": null,
                             "criteria": {"a": null})",
                          R"("x<|im_end|>y")")));
  const std::vector<uint32_t>& ids = questions[0].token_ids;
  const auto end = tokenizer_->TokenId("<|im_end|>");
  ASSERT_TRUE(end.has_value());
  // Of the system turn, of the state, of the user turn.
  EXPECT_EQ(std::count(ids.begin(), ids.end(), *end), 3);
  // Nothing is put in front of the first turn.
  EXPECT_EQ(ids.front(), tokenizer_->TokenId("<|im_start|>"));
}

TEST_F(ProcessorTest, TheTokenLimitIsExact) {
  const std::string fields = R"("type": "choice", "instructions": null,
                                "criteria": {"a": null})";
  const size_t frame = Tokens(RenderPrompt("Pick one.", "", "", {"a"})).size();
  // Digits are tokens of their own, but the line break before the first one
  // and those after the last may merge with neighbours: none has a merge here.
  const auto body = [&](size_t tokens) {
    return OneQuestion(fields, '"' + std::string(tokens - frame, '7') + '"');
  };
  ASSERT_OK_AND_ASSIGN(const auto fits, Prepare(body(kMaxPromptTokens)));
  EXPECT_EQ(fits[0].token_ids.size(), 16384u);
  const auto over = Prepare(body(kMaxPromptTokens + 1));
  EXPECT_THAT(over, HasReason(v1::ErrorReason::TOKENS_EXCEEDED));
  EXPECT_EQ(over.status().message(),
            "question \"q\": 16385 prompt tokens, over 16384");
  const auto info = ErrorInfoOf(over.status());
  EXPECT_EQ(info->metadata().at("limit"), "16384");
  EXPECT_EQ(info->metadata().at("actual"), "16385");
  EXPECT_EQ(info->metadata().at("question"), "q");
}

TEST_F(ProcessorTest, AModelWithFewerPositionsHasALowerLimit) {
  EXPECT_THAT(Prepare(OneQuestion(R"("type": "choice", "instructions": null,
                                     "criteria": {"a": null})"),
                      20),
              HasReason(v1::ErrorReason::TOKENS_EXCEEDED));
}

TEST_F(ProcessorTest, AFailureOfTheTokenizerIsInternal) {
  // The reader lets no such text in.
  const json::Value request = json::Object{
      {"model", "test-model"},
      {"state", "\xff"},
      {"questions",
       json::Object{{"q", json::Object{{"type", "choice"},
                                       {"instructions", json::Value()},
                                       {"criteria",
                                        json::Object{{"a", json::Value()}}}}}}},
  };
  const auto prepared =
      Processor(TestIdentity(), *tokenizer_, kMaxPromptTokens).Prepare(request);
  EXPECT_THAT(prepared,
              StatusIs(absl::StatusCode::kInternal, HasSubstr("tokenizer")));
}

TEST_F(ProcessorTest, MessagesHoldNoTextOfTheRequest) {
  const std::string id(300, 'i');
  const auto error = Prepare(absl::StrFormat(
      R"({"model": "test-model", "state": "secret state", "questions":
          {"%s": {"type": "choice", "instructions": "secret goal",
                  "criteria": {"secret label": 5}}}})",
      id));
  EXPECT_THAT(error, HasReason(v1::ErrorReason::BAD_TEXT));
  const std::string message(error.status().message());
  EXPECT_THAT(message, AllOf(HasSubstr(id.substr(0, 64)),
                             ::testing::Not(HasSubstr(id.substr(0, 65))),
                             ::testing::Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace omni::cua_s1
