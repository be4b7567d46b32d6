#include "workers/cua_s1/identity.h"

#include <openssl/sha.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"
#include "workers/cua_s1/testing/test_worker.h"

namespace omni::cua_s1 {
namespace {

using ::omni::testing::PublishedConfig;
using ::omni::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

// An empty folder of the running test, holding a marker with `content` unless
// that is empty.
std::string Folder(const std::string& name, const std::string& content) {
  std::string folder =
      ::testing::TempDir() + "/" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name() + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  if (!content.empty()) {
    std::ofstream(folder + "/cua_s1_export.json") << content;
  }
  return folder;
}

Identity Unpublished() {
  Identity identity;
  identity.published = false;
  return identity;
}

TEST(SystemPromptTest, HasThePublishedHash) {
  const std::string prompt = kSystemPrompt;
  EXPECT_EQ(prompt.size(), 331u);
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(prompt.data()), prompt.size(),
         digest);
  EXPECT_EQ(absl::BytesToHexString(std::string(
                reinterpret_cast<const char*>(digest), sizeof(digest))),
            "7916645b0ea961e496a7feb506714da296c28a665facc888391a1376c3f47137");
}

TEST(LoadIdentityTest, AMarkerWithoutNamesIsThePublishedModel) {
  ASSERT_OK_AND_ASSIGN(
      const Identity identity,
      LoadIdentity(Folder("", R"({"format": "cua-s1-text-merged/1"})"), ""));
  EXPECT_TRUE(identity.published);
  EXPECT_EQ(identity.request_model, "cua-s1-4b-0.2");
  EXPECT_EQ(
      identity.response_model,
      "cua-ai/cua-s1-4b-0.2@16818868b0cc7813808aae4e87b417657046ab79:text");
  EXPECT_EQ(identity.system_prompt, kSystemPrompt);
}

TEST(LoadIdentityTest, AMarkerMayReplaceEveryName) {
  ASSERT_OK_AND_ASSIGN(
      const Identity identity,
      LoadIdentity(Folder("", R"({"format": "cua-s1-text-merged/1",
                                  "request_model": "mine",
                                  "response_model": "me/mine@1",
                                  "system_prompt": "Pick.",
                                  "notice": "Made for a test."})"),
                   ""));
  EXPECT_FALSE(identity.published);
  EXPECT_EQ(identity.request_model, "mine");
  EXPECT_EQ(identity.response_model, "me/mine@1");
  EXPECT_EQ(identity.revision, "");
  EXPECT_EQ(identity.system_prompt, "Pick.");
  EXPECT_EQ(identity.notice, "Made for a test.");
}

TEST(LoadIdentityTest, RefusesABadMarkerByName) {
  const struct {
    const char* name;
    const char* content;
    const char* message;
  } cases[] = {
      {"no object", "[]", "`format` must be"},
      {"not JSON", "{", "cua_s1_export.json"},
      {"no format", "{}", "`format` must be \"cua-s1-text-merged/1\""},
      {"another format", R"({"format": "cua-s1-text-merged/2"})", "`format`"},
      {"model is no string",
       R"({"format": "cua-s1-text-merged/1", "request_model": 1})",
       "`request_model` must be a string"},
      {"model is empty",
       R"({"format": "cua-s1-text-merged/1", "response_model": ""})",
       "`response_model` has 0 bytes; it must have 1 to 256"},
      {"prompt is null",
       R"({"format": "cua-s1-text-merged/1", "system_prompt": null})",
       "`system_prompt` must be a string"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(LoadIdentity(Folder("", c.content), ""),
                StatusIs(kRefused, AllOf(HasSubstr("cua_s1_export.json"),
                                         HasSubstr(c.message))));
  }
}

TEST(LoadIdentityTest, AFolderWithoutMarkerMayBeTheBaseModel) {
  EXPECT_THAT(LoadIdentity(Folder("", ""), ""),
              StatusIs(kRefused, AllOf(HasSubstr("cua_s1_export.json"),
                                       HasSubstr("--adapter"))));
}

TEST(LoadIdentityTest, RefusesANameThatIsTooLong) {
  EXPECT_THAT(LoadIdentity(Folder("", R"({"format": "cua-s1-text-merged/1",
                                  "request_model": ")" +
                                          std::string(257, 'm') + R"("})"),
                           ""),
              StatusIs(kRefused, HasSubstr("`request_model` has 257 bytes")));
}

TEST(LoadIdentityTest, OnlyAnotherResponseNameMakesAnotherModel) {
  ASSERT_OK_AND_ASSIGN(
      const Identity alias,
      LoadIdentity(Folder("", R"({"format": "cua-s1-text-merged/1",
                                  "request_model": "alias"})"),
                   ""));
  EXPECT_EQ(alias.request_model, "alias");
  EXPECT_TRUE(alias.published);
  EXPECT_EQ(alias.revision, Identity().revision);
}

TEST(LoadIdentityTest, AnAdaptersFolderMayHoldTheMarker) {
  const std::string base = Folder("base", "");
  ASSERT_OK_AND_ASSIGN(const Identity published,
                       LoadIdentity(base, Folder("plain", "")));
  EXPECT_TRUE(published.published);
  ASSERT_OK_AND_ASSIGN(
      const Identity own,
      LoadIdentity(base, Folder("own", R"({"format": "cua-s1-text-merged/1",
                                           "response_model": "mine"})")));
  EXPECT_EQ(own.response_model, "mine");
  EXPECT_FALSE(own.published);
}

TEST(LoadIdentityTest, RefusesToMergeTwice) {
  const std::string merged =
      Folder("base", R"({"format": "cua-s1-text-merged/1"})");
  EXPECT_THAT(LoadIdentity(merged, Folder("adapter", "")),
              StatusIs(kRefused, AllOf(HasSubstr("--checkpoint"),
                                       HasSubstr("--adapter"))));
}

TEST(CheckModelTest, ThePublishedNameNeedsThePublishedShape) {
  ASSERT_OK(CheckModel(Identity(), PublishedConfig()));
  const struct {
    const char* name;
    void (*change)(qwen3_5::Config&);
  } cases[] = {
      {"hidden_size is 1024", [](qwen3_5::Config& c) { c.hidden_size = 1024; }},
      {"intermediate_size is 1",
       [](qwen3_5::Config& c) { c.intermediate_size = 1; }},
      {"vocab_size is 1", [](qwen3_5::Config& c) { c.vocab_size = 1; }},
      {"num_hidden_layers is 24",
       [](qwen3_5::Config& c) { c.layers.resize(24); }},
      {"num_attention_heads is 8",
       [](qwen3_5::Config& c) { c.num_attention_heads = 8; }},
      {"num_key_value_heads is 2",
       [](qwen3_5::Config& c) { c.num_key_value_heads = 2; }},
      {"head_dim is 128", [](qwen3_5::Config& c) { c.head_dim = 128; }},
      {"rotary dimension is 256",
       [](qwen3_5::Config& c) { c.rotary_dim = 256; }},
      {"linear_num_key_heads is 1",
       [](qwen3_5::Config& c) { c.linear_num_key_heads = 1; }},
      {"linear_num_value_heads is 16",
       [](qwen3_5::Config& c) { c.linear_num_value_heads = 16; }},
      {"linear_key_head_dim is 64",
       [](qwen3_5::Config& c) { c.linear_key_head_dim = 64; }},
      {"linear_value_head_dim is 64",
       [](qwen3_5::Config& c) { c.linear_value_head_dim = 64; }},
      {"linear_conv_kernel_dim is 3",
       [](qwen3_5::Config& c) { c.conv_kernel = 3; }},
      {"full attention of layer 3 is 0",
       [](qwen3_5::Config& c) {
         c.layers[3] = qwen3_5::LayerType::kLinearAttention;
       }},
      {"full attention of layer 4 is 1",
       [](qwen3_5::Config& c) {
         c.layers[4] = qwen3_5::LayerType::kFullAttention;
       }},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    qwen3_5::Config config = PublishedConfig();
    c.change(config);
    EXPECT_THAT(CheckModel(Identity(), config),
                StatusIs(kRefused, HasSubstr(c.name)));
    EXPECT_OK(CheckModel(Unpublished(), config));
  }
}

TEST(CheckModelTest, RefusesUntiedEmbeddings) {
  qwen3_5::Config config = PublishedConfig();
  config.tie_word_embeddings = false;
  EXPECT_THAT(CheckModel(Unpublished(), config),
              StatusIs(kRefused, HasSubstr("tie_word_embeddings")));
}

}  // namespace
}  // namespace omni::cua_s1
