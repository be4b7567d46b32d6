#include "tools/checkpoint/demo_tokenizer.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

// The vocabulary with the added tokens.
std::map<std::string, int64_t> Ids(const json::Value& root) {
  std::map<std::string, int64_t> ids;
  for (const auto& [token, id] : root.Find("model")->Find("vocab")->object()) {
    EXPECT_TRUE(ids.emplace(token, IntegerOf(id).value()).second) << token;
  }
  for (const json::Value& token : root.Find("added_tokens")->array()) {
    EXPECT_TRUE(ids.emplace(token.Find("content")->string(),
                            IntegerOf(*token.Find("id")).value())
                    .second);
  }
  return ids;
}

TEST(DemoTokenizerTest, LettersHaveThePublishedIds) {
  ASSERT_OK_AND_ASSIGN(const json::Value root,
                       ParseJson(DemoTokenizerJson(), "text"));
  const std::map<std::string, int64_t> ids = Ids(root);
  for (char letter = 'A'; letter <= 'Z'; ++letter) {
    EXPECT_EQ(ids.at(std::string(1, letter)), 32 + letter - 'A');
  }
  // Line feed and space, the first and the last byte of the alphabet.
  EXPECT_EQ(ids.at("\u010a"), 198);
  EXPECT_EQ(ids.at("\u0120"), 220);
  EXPECT_EQ(ids.at("!"), 0);
  EXPECT_EQ(ids.at("\u0143"), 255);
}

TEST(DemoTokenizerTest, IdsAreConsecutiveAndFitTheDemo) {
  ASSERT_OK_AND_ASSIGN(const json::Value root,
                       ParseJson(DemoTokenizerJson(), "text"));
  const std::map<std::string, int64_t> ids = Ids(root);
  EXPECT_LE(ids.size(), 512);
  std::map<int64_t, std::string> tokens;
  for (const auto& [token, id] : ids) tokens[id] = token;
  EXPECT_EQ(tokens.size(), ids.size());
  EXPECT_EQ(tokens.begin()->first, 0);
  EXPECT_EQ(tokens.rbegin()->first, static_cast<int64_t>(ids.size()) - 1);
  EXPECT_EQ(tokens.rbegin()->second, "</think>");
}

TEST(DemoTokenizerTest, EveryMergeJoinsTokensToAToken) {
  ASSERT_OK_AND_ASSIGN(const json::Value root,
                       ParseJson(DemoTokenizerJson(), "text"));
  const std::map<std::string, int64_t> ids = Ids(root);
  int64_t next_id = 256;
  for (const json::Value& merge : root.Find("model")->Find("merges")->array()) {
    const std::string& left = merge.array()[0].string();
    const std::string& right = merge.array()[1].string();
    EXPECT_LT(ids.at(left), next_id);
    EXPECT_LT(ids.at(right), next_id);
    EXPECT_EQ(ids.at(left + right), next_id);
    ++next_id;
  }
  EXPECT_GT(next_id, 400);
}

TEST(DemoTokenizerTest, PatternIsQwens) {
  ASSERT_OK_AND_ASSIGN(const json::Value root,
                       ParseJson(DemoTokenizerJson(), "text"));
  const json::Value& split =
      root.Find("pre_tokenizer")->Find("pretokenizers")->array()[0];
  EXPECT_EQ(
      split.Find("pattern")->Find("Regex")->string(),
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)"
      R"(|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
}

}  // namespace
}  // namespace omni
