#include "workers/model/tokenizer.h"

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/qwen3_5/split_pattern.h"
#include "workers/model/tokenizer/test_file.h"

namespace omni {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

tokenizer::TestFile QwenLikeFile() {
  tokenizer::TestFile file;
  file.Set("normalizer", R"({"type": "NFC"})")
      .Set("pre_tokenizer", tokenizer::Qwen35PreTokenizer())
      .Token(" b", 300)
      .Token("é", 301)
      .Token("  ", 302)
      .Added("<|im_end|>", 400)
      .Added("<think>", 401, "")
      .Added("<é>", 402, "normalized");
  return file;
}

TEST(TokenizerTest, StepsFollowTheOrderOfTheFile) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       Tokenizer::FromJson(QwenLikeFile().Json()));
  EXPECT_THAT(tokenizer->Encode("A b", {}), IsOkAndHolds(ElementsAre(32, 300)));
  EXPECT_THAT(tokenizer->Encode("e\u0301", {}), IsOkAndHolds(ElementsAre(301)));
  // The last of the spaces belongs to the word.
  EXPECT_THAT(tokenizer->Encode("A   b", {}),
              IsOkAndHolds(ElementsAre(32, 302, 300)));
  EXPECT_THAT(tokenizer->Encode("", {}), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(tokenizer->split_pattern(), qwen3_5::kSplitPattern);
  EXPECT_EQ(tokenizer->vocabulary_size(), 403);
}

TEST(TokenizerTest, AddedTokensAreFoundInWhatUsersWrite) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       Tokenizer::FromJson(QwenLikeFile().Json()));
  EXPECT_THAT(tokenizer->Encode("A<|im_end|> b<think>", {}),
              IsOkAndHolds(ElementsAre(32, 400, 300, 401)));
}

TEST(TokenizerTest, NormalizedTokensAreFoundInNormalizedTextOnly) {
  ASSERT_OK_AND_ASSIGN(
      const auto tokenizer,
      Tokenizer::FromJson(QwenLikeFile()
                              .Added("[é]", 403, "")
                              .Added("[e\u0301x]", 404, "normalized")
                              .Json()));
  EXPECT_THAT(tokenizer->Encode("<é><e\u0301>", {}),
              IsOkAndHolds(ElementsAre(402, 402)));
  EXPECT_THAT(tokenizer->Encode("[é]", {}), IsOkAndHolds(ElementsAre(403)));
  EXPECT_THAT(tokenizer->Encode("[e\u0301]", {}),
              IsOkAndHolds(ElementsAre(58, 301, 60)));
  // The token's own content is normalized too.
  EXPECT_THAT(tokenizer->Encode("[éx]", {}), IsOkAndHolds(ElementsAre(404)));
}

TEST(TokenizerTest, SpecialOnesGoFirstWhereContentsBecomeAlike) {
  ASSERT_OK_AND_ASSIGN(
      const auto tokenizer,
      Tokenizer::FromJson(QwenLikeFile()
                              .Added("[é]", 403, "normalized")
                              .Added("[e\u0301]", 404, "normalized special")
                              .Json()));
  EXPECT_THAT(tokenizer->Encode("[é]", {}), IsOkAndHolds(ElementsAre(404)));
}

TEST(TokenizerTest, SpecialTokensAreAddedOnRequestOnly) {
  ASSERT_OK_AND_ASSIGN(
      const auto tokenizer,
      Tokenizer::FromJson(
          QwenLikeFile()
              .Set("post_processor", R"({"type": "BertProcessing",
                   "cls": ["<think>", 401], "sep": ["<|end|>", 500]})")
              .Json()));
  EXPECT_THAT(tokenizer->Encode("A", {}), IsOkAndHolds(ElementsAre(32)));
  EXPECT_THAT(tokenizer->Encode("A", {.add_special_tokens = true}),
              IsOkAndHolds(ElementsAre(401, 32, 500)));
  EXPECT_EQ(tokenizer->vocabulary_size(), 501);
}

TEST(TokenizerTest, TokenIdKnowsEntriesAndAddedTokens) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       Tokenizer::FromJson(QwenLikeFile().Json()));
  EXPECT_EQ(tokenizer->TokenId("A"), 32);
  EXPECT_EQ(tokenizer->TokenId("Ġb"), 300);
  EXPECT_EQ(tokenizer->TokenId("<think>"), 401);
  EXPECT_EQ(tokenizer->TokenId("<é>"), 402);
  EXPECT_EQ(tokenizer->TokenId(" b"), std::nullopt);
  EXPECT_EQ(tokenizer->TokenId(""), std::nullopt);
}

// In time that grows with the square of the length this would take minutes.
TEST(TokenizerTest, OneLetterAMillionTimesIsOneWord) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       Tokenizer::FromJson(QwenLikeFile()
                                               .Token("aa", 500)
                                               .Token("aaa", 501)
                                               .Token("aaaa", 502)
                                               .Merge("aa", "aa")
                                               .Json()));
  // Pairs first, then the odd letter at the end joins its neighbour, then the
  // other pairs join each other: 250,000 fours and a three.
  std::vector<uint32_t> expected(250'000, 502);
  expected.push_back(501);
  ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> ids,
                       tokenizer->Encode(std::string(1'000'003, 'a'), {}));
  // Not EXPECT_THAT: its message would hold every id.
  EXPECT_EQ(ids.size(), expected.size());
  EXPECT_TRUE(ids == expected);
}

TEST(TokenizerTest, TextThatIsNoUtf8IsRefused) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       Tokenizer::FromJson(QwenLikeFile().Json()));
  EXPECT_THAT(tokenizer->Encode("a\xFF", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_THAT(
      tokenizer->Encode(std::string(Tokenizer::kMaxTextBytes + 1, 'a'), {}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("at most 268435456")));
}

TEST(TokenizerTest, ThreadsShareOneTokenizer) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       Tokenizer::FromJson(QwenLikeFile().Json()));
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "A e\u0301  b <think>\n";
  ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> expected,
                       tokenizer->Encode(text, {}));
  std::vector<absl::StatusOr<std::vector<uint32_t>>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = tokenizer->Encode(text, {}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results)
    EXPECT_THAT(result, IsOkAndHolds(expected));
}

TEST(TokenizerTest, BrokenFilesAreRefused) {
  using tokenizer::TestFile;
  const struct {
    std::string file;
    const char* message;
  } kCases[] = {
      {"{", ""},
      {"[]", "tokenizer: must be an object"},
      {R"({"version": "1.0"})", "pre_tokenizer: "},
      {TestFile().Set("version", "\"2.0\"").Json(),
       "version \"2.0\" is not served"},
      {TestFile().Set("normalizer", R"({"type": "Replace"})").Json(),
       "\"Replace\" is not served"},
      {TestFile().Set("model", "null").Json(), "model: must be an object"},
      {TestFile().Added("A", 300).Json(),
       "\"A\" has the id 300, but 32 in the vocabulary"},
      {TestFile().Added("<a>", 300).Added("<b>", 300).Json(),
       "\"<a>\" and \"<b>\" have the id 300"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.message);
    const auto result = Tokenizer::FromJson(c.file);
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr(c.message)));
    // A bad file is no client's fault.
    EXPECT_EQ(ErrorInfoOf(result.status()), std::nullopt);
  }
}

TEST(TokenizerTest, ErrorsOfFilesNameThePath) {
  const std::string path = ::testing::TempDir() + "/tokenizer.json";
  EXPECT_THAT(Tokenizer::FromFile(path + ".missing"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("/tokenizer.json.missing: ")));
  std::ofstream(path) << "{}";
  EXPECT_THAT(Tokenizer::FromFile(path),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("/tokenizer.json: "),
                             HasSubstr("pre_tokenizer"))));
  EXPECT_FALSE(Tokenizer::FromFile(::testing::TempDir()).ok());
  std::ofstream(path) << QwenLikeFile().Json();
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::FromFile(path));
  EXPECT_EQ(tokenizer->TokenId("<think>"), 401);
}

}  // namespace
}  // namespace omni
