#include "workers/model/tokenizer/bpe.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/reader.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/tokenizer/test_file.h"

namespace omni::tokenizer {
namespace {

using ::omni::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<Bpe> FromFile(const TestFile& file) {
  ASSIGN_OR_RETURN(const json::Value value, json::Read(file.Json()));
  return Bpe::FromJson(*value.Find("model"));
}

std::vector<uint32_t> Encode(const Bpe& bpe, std::string_view word) {
  Bpe::Workspace workspace;
  std::vector<uint32_t> ids;
  bpe.Encode(word, workspace, ids);
  return ids;
}

TEST(BpeTest, WithoutMergesEachByteIsASymbol) {
  ASSERT_OK_AND_ASSIGN(const Bpe bpe, FromFile(TestFile()));
  EXPECT_THAT(Encode(bpe, "A!Ċ"), ElementsAre(32, 0, 198));
  EXPECT_THAT(Encode(bpe, ""), IsEmpty());
  EXPECT_EQ(bpe.size(), 256);
  EXPECT_EQ(bpe.TokenId("Ġ"), 220);
  EXPECT_EQ(bpe.TokenId("\n"), std::nullopt);
}

TEST(BpeTest, LowestRankIsMergedFirst) {
  // By rank: b+c, a+b, ab+c, a+bc.
  TestFile file;
  file.Token("bc", 300).Token("abc", 302).Merge("a", "bc");
  ASSERT_OK_AND_ASSIGN(const Bpe bpe, FromFile(file));
  const uint32_t ab = TestFile::kFirstPrefixId;
  EXPECT_EQ(bpe.TokenId("ab"), ab);
  EXPECT_THAT(Encode(bpe, "abc"), ElementsAre(302));
  EXPECT_THAT(Encode(bpe, "ab"), ElementsAre(ab));
  // b+c goes before a+b wherever it stands.
  EXPECT_THAT(Encode(bpe, "abbc"), ElementsAre(ab, 300));
  EXPECT_THAT(Encode(bpe, "bcabc"), ElementsAre(300, 302));
}

TEST(BpeTest, LeftmostOfEqualRanksIsMergedFirst) {
  TestFile file;
  file.Token("aa", 300);
  ASSERT_OK_AND_ASSIGN(const Bpe bpe, FromFile(file));
  EXPECT_THAT(Encode(bpe, "aaa"), ElementsAre(300, 64));
  EXPECT_THAT(Encode(bpe, "aaaaa"), ElementsAre(300, 300, 64));
}

// A merge that was queued is void when a neighbour was merged away.
TEST(BpeTest, OutdatedMergesAreSkipped) {
  TestFile file;
  file.Token("bc", 300).Token("cd", 301).Token("ab", 302);
  ASSERT_OK_AND_ASSIGN(const Bpe bpe, FromFile(file));
  EXPECT_THAT(Encode(bpe, "abcd"), ElementsAre(64, 300, 67));
  EXPECT_THAT(Encode(bpe, "abcdcd"), ElementsAre(64, 300, 67, 301));
}

TEST(BpeTest, LastOfRepeatedMergesGivesTheRank) {
  TestFile file;
  file.SetModel("merges", R"(["a b", "b c", "a b"])");
  file.Token("ab", 300).Token("bc", 301);
  ASSERT_OK_AND_ASSIGN(const Bpe bpe, FromFile(file));
  EXPECT_THAT(Encode(bpe, "abc"), ElementsAre(64, 301));
}

TEST(BpeTest, MergesMayBePairs) {
  TestFile file;
  file.Token("ab", 300).Token(" a", 301);
  file.SetModel("merges", R"([["a", "b"], ["Ġ", "a"]])");
  ASSERT_OK_AND_ASSIGN(const Bpe bpe, FromFile(file));
  EXPECT_THAT(Encode(bpe, "Ġab"), ElementsAre(220, 300));
  EXPECT_THAT(Encode(bpe, "Ġa"), ElementsAre(301));
}

TEST(BpeTest, WholeWordsGoFirstWhereMergesAreIgnored) {
  TestFile file;
  file.Token("bc", 300).Token("abcd", 301).SetModel("merges", R"(["b c"])");
  ASSERT_OK_AND_ASSIGN(const Bpe with_merges, FromFile(file));
  EXPECT_THAT(Encode(with_merges, "abcd"), ElementsAre(64, 300, 67));
  file.SetModel("ignore_merges", "true");
  ASSERT_OK_AND_ASSIGN(const Bpe bpe, FromFile(file));
  EXPECT_THAT(Encode(bpe, "abcd"), ElementsAre(301));
  EXPECT_THAT(Encode(bpe, "abce"), ElementsAre(64, 300, 68));
}

// Quadratic merging would take hours here.
TEST(BpeTest, LongRunsTakeLinearithmicTime) {
  TestFile file;
  for (uint32_t length = 2, id = 300; length <= 64; length *= 2, ++id) {
    file.Token(std::string(length, 'a'), id);
  }
  std::string merges = "[";
  for (size_t half = 1; half <= 32; half *= 2) {
    const std::string left(half, 'a');
    absl::StrAppend(&merges, half == 1 ? "" : ", ", "\"", left, " ", left,
                    "\"");
  }
  file.SetModel("merges", merges + "]");
  ASSERT_OK_AND_ASSIGN(const Bpe bpe, FromFile(file));
  const std::vector<uint32_t> ids =
      Encode(bpe, std::string(size_t{64} << 14, 'a'));
  EXPECT_EQ(ids.size(), 1 << 14);
  EXPECT_THAT(ids, Each(305));
}

TEST(BpeTest, EmptySettingsOfOldFilesAreAccepted) {
  TestFile file;
  file.SetModel("type", "null")
      .SetModel("dropout", "0.0")
      .SetModel("continuing_subword_prefix", "\"\"")
      .SetModel("end_of_word_suffix", "\"\"")
      .SetModel("byte_fallback", "false")
      .SetModel("unk_token", "\"<unk>\"");
  EXPECT_OK(FromFile(file));
}

TEST(BpeTest, WhatIsNotServedIsRefusedByName) {
  const struct {
    const char* key;
    const char* value;
    const char* message;
  } kCases[] = {
      {"type", "\"Unigram\"", "model: type \"Unigram\" is not served"},
      {"dropout", "0.1", "\"dropout\" is not served"},
      {"byte_fallback", "true", "\"byte_fallback\" is not served"},
      {"continuing_subword_prefix", "\"##\"",
       "\"continuing_subword_prefix\" is not served"},
      {"end_of_word_suffix", "\"</w>\"",
       "\"end_of_word_suffix\" is not served"},
      {"ignore_merges", "1", "\"ignore_merges\" must be"},
      {"merges", "{}", "\"merges\" must be"},
      {"merges", R"(["a"])", "model.merges[0]: must be"},
      {"merges", R"(["a b c"])", "model.merges[0]: must be"},
      {"merges", R"(["a "])", "model.merges[0]: must be"},
      {"merges", R"([["a", "b", "c"]])", "model.merges[0]: must be"},
      {"merges", R"([7])", "model.merges[0]: must be"},
      {"merges", R"(["a b"])", "model.merges[0]: \"a\", \"b\" or what"},
      {"merges", R"(["ab c"])", "model.merges[0]: \"ab\", \"c\" or what"},
      {"vocab", "[]", "model.vocab: must be an object"},
      {"vocab", R"({"a": 0})", "\"Ā\", which stands for the byte 0x00"},
      {"vocab", R"({"a": 0, "b": 0})", "two entries have the id 0"},
      {"vocab", R"({"a": 1.5})", "model.vocab: must be an integer"},
      {"vocab", R"({"a": 4294967295})", "model.vocab: must be an integer"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.key, ": ", c.value));
    TestFile file;
    file.SetModel(c.key, c.value);
    EXPECT_THAT(FromFile(file), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr(c.message)));
  }
  EXPECT_THAT(
      Bpe::FromJson(json::Value()),
      StatusIs(absl::StatusCode::kInvalidArgument, "model: must be an object"));
}

}  // namespace
}  // namespace omni::tokenizer
