// Compares with recorded ids of published tokenizers. OMNI_REFERENCE_DATA is
// the folder of the reference data, OMNI_QWEN35_TOKENIZER a tokenizer.json of
// Qwen3.5; tests that need one that is not set are skipped.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/value.h"
#include "runtime/testing/reference_data.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/qwen3_5/split_pattern.h"
#include "workers/model/tokenizer.h"
#include "workers/model/tokenizer/test_file.h"

namespace omni {
namespace {

using ReferenceDataTest = testing::ReferenceDataTest;
using Ids = std::vector<uint32_t>;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

Ids ReadIds(const json::Value& value) {
  Ids ids;
  for (const json::Value& entry : value.array()) {
    uint32_t id = 0;
    EXPECT_TRUE(absl::SimpleAtoi(entry.number().text, &id));
    ids.push_back(id);
  }
  return ids;
}

TEST_F(ReferenceDataTest, ModernBertIdsAreTheRecordedOnes) {
  ASSERT_OK_AND_ASSIGN(
      const auto tokenizer,
      Tokenizer::FromFile(Path("modernbert-tokenizer/tokenizer.json")));
  EXPECT_EQ(tokenizer->vocabulary_size(), 50368);
  EXPECT_EQ(tokenizer->split_pattern(), "");
  EXPECT_EQ(tokenizer->TokenId("[MASK]"), 50284);

  const json::Value recorded =
      testing::MustReadJsonFile(Path("modernbert-tokenizer/cases.json"));
  const json::Array& cases = recorded.Find("cases")->array();
  ASSERT_EQ(cases.size(), 39);
  for (const json::Value& c : cases) {
    SCOPED_TRACE(c.Find("name")->string());
    EXPECT_THAT(
        tokenizer->Encode(c.Find("text")->string(), {}),
        testing::IsOkAndHolds(ElementsAreArray(ReadIds(*c.Find("ids")))));
  }
  const json::Array& runs = recorded.Find("space_runs")->array();
  ASSERT_EQ(runs.size(), 35);
  for (const json::Value& run : runs) {
    uint32_t length = 0;
    ASSERT_TRUE(absl::SimpleAtoi(run.Find("n")->number().text, &length));
    SCOPED_TRACE(length);
    const std::string spaces(length, ' ');
    EXPECT_THAT(
        tokenizer->Encode(spaces, {}),
        testing::IsOkAndHolds(ElementsAreArray(ReadIds(*run.Find("alone")))));
    EXPECT_THAT(tokenizer->Encode("a" + spaces + "b", {}),
                testing::IsOkAndHolds(
                    ElementsAreArray(ReadIds(*run.Find("between_a_and_b")))));
  }
}

TEST_F(ReferenceDataTest, ModernBertTemplateGoesAroundTheText) {
  ASSERT_OK_AND_ASSIGN(
      const auto tokenizer,
      Tokenizer::FromFile(Path("modernbert-tokenizer/tokenizer.json")));
  EXPECT_THAT(tokenizer->Encode("Hello world", {.add_special_tokens = true}),
              testing::IsOkAndHolds(ElementsAre(50281, 12092, 1533, 50282)));
}

// The ids of a piece are known, but not the whole vocabulary around it. A file
// that has every piece with one id as an entry, and merges for those with more,
// gives the recorded ids only if the text is cut into exactly these pieces.
TEST_F(ReferenceDataTest, QwenPromptsAreCutIntoTheRecordedPieces) {
  const json::Value recorded = testing::MustReadJsonFile(
      Path("open-jev-golden/qwen35_token_pieces.json"));
  tokenizer::TestFile file;
  file.Set("normalizer", R"({"type": "NFC"})")
      .Set("pre_tokenizer", tokenizer::Qwen35PreTokenizer())
      .SetModel("ignore_merges", "true");
  for (const auto& [text, ids] : recorded.Find("special")->object()) {
    if (text.front() == '<') {
      file.Added(text, ReadIds(ids).front());
    } else {
      file.Token(text, ReadIds(ids).front());
    }
  }
  const json::Array& pieces = recorded.Find("pieces")->array();
  for (const json::Value& piece : pieces) {
    const Ids ids = ReadIds(*piece.Find("ids"));
    const std::string& text = piece.Find("text")->string();
    if (ids.size() == 1) file.Token(text, ids.front());
  }
  // Where the pieces of more than one id are cut, as far as no other piece
  // says it.
  file.Token("Pro", 1941).Token("posed", 18988);
  file.Token(" Urg", 82534).Token("ent", 305);
  file.Token("\"]}", 89254).Token("}]", 24634);

  ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::FromJson(file.Json()));
  for (const json::Value& piece : pieces) {
    const std::string& text = piece.Find("text")->string();
    SCOPED_TRACE(text);
    EXPECT_THAT(
        tokenizer->Encode(text, {}),
        testing::IsOkAndHolds(ElementsAreArray(ReadIds(*piece.Find("ids")))));
  }
  const json::Array& prompts = recorded.Find("full_prompts")->array();
  ASSERT_EQ(prompts.size(), 3);
  for (const json::Value& prompt : prompts) {
    const std::string& text = prompt.Find("chat_text")->string();
    SCOPED_TRACE(text);
    const Ids ids = ReadIds(*prompt.Find("input_ids"));
    EXPECT_THAT(tokenizer->Encode(text, {}),
                testing::IsOkAndHolds(ElementsAreArray(ids)));
    EXPECT_THAT(tokenizer->Encode(text, {.add_special_tokens = true}),
                testing::IsOkAndHolds(ElementsAreArray(ids)));
  }
}

class Qwen35Test : public ::testing::Test {
 protected:
  // Loaded once for all tests.
  static void SetUpTestSuite() {
    const std::string path =
        testing::EnvironmentVariable("OMNI_QWEN35_TOKENIZER");
    if (path.empty()) return;
    ASSERT_OK_AND_ASSIGN(tokenizer_, Tokenizer::FromFile(path));
  }
  static void TearDownTestSuite() { tokenizer_.reset(); }

  void SetUp() override {
    if (tokenizer_ == nullptr) {
      GTEST_SKIP() << "OMNI_QWEN35_TOKENIZER is not set";
    }
  }

  // The ids of a prompt in Open-Jev's chat frame, without the frame's.
  Ids EncodeUserTurn(std::string_view user) const {
    const std::string text =
        "<|im_start|>user\n" + std::string(user) +
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
    const absl::StatusOr<Ids> ids = tokenizer_->Encode(text, {});
    EXPECT_OK(ids);
    if (!ids.ok() || ids->size() < 12) return {};
    EXPECT_THAT(Ids(ids->begin(), ids->begin() + 3),
                ElementsAre(248045, 846, 198));
    EXPECT_THAT(
        Ids(ids->end() - 9, ids->end()),
        ElementsAre(248046, 198, 248045, 74455, 198, 248068, 271, 248069, 271));
    return Ids(ids->begin() + 3, ids->end() - 9);
  }

  static std::unique_ptr<const Tokenizer> tokenizer_;
};

std::unique_ptr<const Tokenizer> Qwen35Test::tokenizer_;

constexpr std::string_view kVerdict =
    "\nIs this proposed answer correct? Answer Yes or No.";

TEST_F(Qwen35Test, KnownIdsAreInTheFile) {
  EXPECT_EQ(tokenizer_->split_pattern(), qwen3_5::kSplitPattern);
  EXPECT_GE(tokenizer_->vocabulary_size(), 248070);
  EXPECT_EQ(tokenizer_->TokenId("<|endoftext|>"), 248044);
  EXPECT_EQ(tokenizer_->TokenId("<|im_start|>"), 248045);
  EXPECT_EQ(tokenizer_->TokenId("<|image_pad|>"), 248056);
  EXPECT_EQ(tokenizer_->TokenId("</think>"), 248069);
  for (uint32_t i = 0; i < 26; ++i) {
    const std::string letter(1, static_cast<char>('A' + i));
    EXPECT_EQ(tokenizer_->TokenId(letter), 32 + i);
    EXPECT_THAT(tokenizer_->Encode(letter, {}),
                testing::IsOkAndHolds(ElementsAre(32 + i)));
  }
}

TEST_F(Qwen35Test, PromptsHaveTheirPublishedIds) {
  EXPECT_THAT(
      EncodeUserTurn("Context:\nAnything\n\nQuestion: Pick\nProposed answer: "
                     "only" +
                     std::string(kVerdict)),
      ElementsAre(1905, 25, 198, 74660, 271, 14162, 25, 19123, 198, 1941, 18988,
                  4087, 25, 1132, 198, 3742, 411, 10660, 4087, 4252, 30, 21134,
                  7179, 466, 2233, 13));
  EXPECT_THAT(
      EncodeUserTurn("Context:\n[\"café\", {\"a\": 1e-05, \"b\": false}]\n\n"
                     "Question: Rate.\nProposed answer: low" +
                     std::string(kVerdict)),
      ElementsAre(1905, 25, 198, 1143, 895, 56868, 487, 5046, 64, 763, 220, 16,
                  68, 12, 15, 20, 11, 328, 65, 763, 867, 24634, 271, 14162, 25,
                  19172, 13, 198, 1941, 18988, 4087, 25, 3238, 198, 3742, 411,
                  10660, 4087, 4252, 30, 21134, 7179, 466, 2233, 13));
  EXPECT_THAT(
      EncodeUserTurn(
          "Context:\n{\"a\": {\"a\": \"first\", \"β\": \"z\"}, \"z\": [1.0, "
          "1e+16, -0.0, true, null, \"猫\"]}\n\nQuestion: {\"a\": \"choose\", "
          "\"z\": 1}\nProposed answer: z-last" +
          std::string(kVerdict)),
      ElementsAre(1905, 25, 198, 4754, 64, 763, 5046, 64, 763, 328, 3765, 487,
                  328, 49531, 763, 328, 89, 13933, 328, 89, 763, 498, 16, 13,
                  15, 11, 220, 16, 68, 10, 16, 21, 11, 471, 15, 13, 15, 11, 804,
                  11, 819, 11, 328, 98500, 89254, 271, 14162, 25, 5046, 64, 763,
                  328, 26184, 487, 328, 89, 763, 220, 16, 92, 198, 1941, 18988,
                  4087, 25, 1110, 58477, 198, 3742, 411, 10660, 4087, 4252, 30,
                  21134, 7179, 466, 2233, 13));
  EXPECT_THAT(
      EncodeUserTurn(
          "Context:\nA customer says: I was charged twice for one order. The "
          "service is working normally. There is no sign of unauthorized "
          "access.\n\nQuestion: Does this message describe a duplicate "
          "charge?\nIs the answer to this question yes? Answer Yes or No."),
      ElementsAre(1905, 25, 198, 32, 5813, 2640, 25, 353, 557, 11102, 10598,
                  364, 799, 1906, 13, 561, 2393, 369, 3133, 13870, 13, 2532,
                  369, 874, 1777, 314, 42994, 2528, 13, 271, 14162, 25, 12193,
                  411, 1876, 7276, 264, 21814, 6545, 30, 198, 3742, 279, 4087,
                  310, 411, 3296, 9542, 30, 21134, 7179, 466, 2233, 13));
}

TEST_F(Qwen35Test, PromptOfCuaS1HasItsRecordedIds) {
  const std::string folder =
      testing::EnvironmentVariable("OMNI_REFERENCE_DATA");
  if (folder.empty()) GTEST_SKIP() << "OMNI_REFERENCE_DATA is not set";
  const json::Value recorded = testing::MustReadJsonFile(
      folder + "/cua-s1-golden/cua_s1_4b_text_case.json");
  const Ids ids = ReadIds(*recorded.Find("input_ids"));
  ASSERT_EQ(ids.size(), 761);
  EXPECT_THAT(tokenizer_->Encode(recorded.Find("prompt_text")->string(), {}),
              testing::IsOkAndHolds(ElementsAreArray(ids)));
}

}  // namespace
}  // namespace omni
