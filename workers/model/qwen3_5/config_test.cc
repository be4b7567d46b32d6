#include "workers/model/qwen3_5/config.h"

#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/testing/status_matchers.h"

namespace omni::qwen3_5 {
namespace {

using ::omni::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr LayerType kLinear = LayerType::kLinearAttention;
constexpr LayerType kFull = LayerType::kFullAttention;

// The keys of Qwen3.5-4B's text model that matter, with four layers.
json::Value PublishedText() {
  const auto value = ParseJson(R"({
      "attention_bias": false, "attn_output_gate": true,
      "full_attention_interval": 4, "head_dim": 256, "hidden_act": "silu",
      "hidden_size": 2560, "intermediate_size": 9216,
      "layer_types": ["linear_attention", "linear_attention",
                      "linear_attention", "full_attention"],
      "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
      "linear_num_key_heads": 16, "linear_num_value_heads": 32,
      "linear_value_head_dim": 128, "max_position_embeddings": 262144,
      "model_type": "qwen3_5_text", "num_attention_heads": 16,
      "num_hidden_layers": 4, "num_key_value_heads": 4,
      "rms_norm_eps": 1e-06, "tie_word_embeddings": true,
      "vocab_size": 248320,
      "rope_parameters": {"mrope_interleaved": true,
                          "mrope_section": [11, 11, 10],
                          "rope_type": "default", "rope_theta": 10000000,
                          "partial_rotary_factor": 0.25}})",
                               "text");
  return *value;
}

// Sets, replaces or (without value) removes a member; "a.b" is b within a.
void Set(json::Value& object, const std::string& key, const char* text) {
  const size_t dot = key.find('.');
  const std::string name = key.substr(0, dot);
  json::Object& members = object.object();
  auto it = members.begin();
  while (it != members.end() && it->first != name) ++it;
  if (dot != std::string::npos) {
    Set(it->second, key.substr(dot + 1), text);
    return;
  }
  if (it != members.end()) it = members.erase(it);
  if (text == nullptr) return;
  const auto value = ParseJson(text, "value");
  ASSERT_OK(value);
  members.emplace(it, name, *value);
}

TEST(ConfigTest, ReadsPublishedKeys) {
  const json::Value text = PublishedText();
  const json::Value root =
      json::Object{{"model_type", "qwen3_5"}, {"text_config", text}};
  for (const json::Value& form : {text, root}) {
    ASSERT_OK_AND_ASSIGN(const Config config, ParseConfig(form));
    EXPECT_EQ(config.hidden_size, 2560);
    EXPECT_EQ(config.intermediate_size, 9216);
    EXPECT_EQ(config.vocab_size, 248320);
    EXPECT_THAT(config.layers, ElementsAre(kLinear, kLinear, kLinear, kFull));
    EXPECT_EQ(config.num_attention_heads, 16);
    EXPECT_EQ(config.num_key_value_heads, 4);
    EXPECT_EQ(config.head_dim, 256);
    EXPECT_EQ(config.rotary_dim, 64);
    EXPECT_EQ(config.rope_theta, 1e7);
    EXPECT_EQ(config.linear_num_key_heads, 16);
    EXPECT_EQ(config.linear_num_value_heads, 32);
    EXPECT_EQ(config.linear_key_head_dim, 128);
    EXPECT_EQ(config.linear_value_head_dim, 128);
    EXPECT_EQ(config.conv_kernel, 4);
    EXPECT_EQ(config.rms_norm_eps, 1e-6);
    EXPECT_EQ(config.max_position_embeddings, 262144);
    EXPECT_TRUE(config.tie_word_embeddings);
    EXPECT_EQ(config.key_dim(), 2048);
    EXPECT_EQ(config.value_dim(), 4096);
    EXPECT_EQ(config.conv_dim(), 8192);
  }
}

TEST(ConfigTest, AbsentAndNullKeysHaveDefaults) {
  json::Value text = PublishedText();
  for (const char* key :
       {"attention_bias", "attn_output_gate", "hidden_act",
        "linear_conv_kernel_dim", "linear_key_head_dim",
        "linear_value_head_dim", "tie_word_embeddings", "vocab_size",
        "rope_parameters.partial_rotary_factor", "rope_parameters.rope_type",
        "rope_parameters.mrope_section", "rope_parameters.mrope_interleaved"}) {
    Set(text, key, nullptr);
  }
  ASSERT_OK_AND_ASSIGN(const Config absent, ParseConfig(text));
  EXPECT_EQ(absent.conv_kernel, 4);
  EXPECT_EQ(absent.linear_key_head_dim, 128);
  EXPECT_EQ(absent.linear_value_head_dim, 128);
  EXPECT_EQ(absent.vocab_size, 248320);
  EXPECT_EQ(absent.rotary_dim, 64);
  EXPECT_FALSE(absent.tie_word_embeddings);
  Set(text, "attention_bias", "null");
  Set(text, "rope_parameters.partial_rotary_factor", "null");
  EXPECT_OK(ParseConfig(text));
}

TEST(ConfigTest, DerivesTheLayersFromTheInterval) {
  json::Value text = PublishedText();
  Set(text, "layer_types", nullptr);
  Set(text, "full_attention_interval", "3");
  Set(text, "num_hidden_layers", "7");
  ASSERT_OK_AND_ASSIGN(const Config config, ParseConfig(text));
  EXPECT_THAT(config.layers, ElementsAre(kLinear, kLinear, kFull, kLinear,
                                         kLinear, kFull, kLinear));
  Set(text, "full_attention_interval", nullptr);
  ASSERT_OK_AND_ASSIGN(const Config fourth, ParseConfig(text));
  EXPECT_THAT(fourth.layers, ElementsAre(kLinear, kLinear, kLinear, kFull,
                                         kLinear, kLinear, kLinear));
}

TEST(ConfigTest, RopeKeysFallBackToTheTextObject) {
  json::Value text = PublishedText();
  Set(text, "rope_parameters", nullptr);
  Set(text, "rope_theta", "10000.5");
  Set(text, "partial_rotary_factor", "0.5");
  ASSERT_OK_AND_ASSIGN(const Config config, ParseConfig(text));
  EXPECT_EQ(config.rope_theta, 10000.5);
  EXPECT_EQ(config.rotary_dim, 128);
}

TEST(ConfigTest, TheDefaultTypeOfRopeMayBeSaidInTheOldWay) {
  json::Value text = PublishedText();
  Set(text, "rope_parameters.type", "\"default\"");
  for (const char* scaling :
       {"null", R"({"type": "default"})", R"({"rope_type": "default"})",
        R"({"rope_type": "default", "type": "default"})"}) {
    Set(text, "rope_scaling", scaling);
    EXPECT_OK(ParseConfig(text)) << scaling;
  }
}

TEST(ConfigTest, EitherPlaceTiesTheEmbeddingsIfBothAgree) {
  for (const char* in_root : {"true", "false", ""}) {
    for (const char* in_text : {"true", "false", ""}) {
      json::Value text = PublishedText();
      Set(text, "tie_word_embeddings", *in_text == '\0' ? nullptr : in_text);
      json::Value root = json::Object{{"text_config", text}};
      Set(root, "tie_word_embeddings", *in_root == '\0' ? nullptr : in_root);
      SCOPED_TRACE(absl::StrFormat("%s/%s", in_root, in_text));
      const absl::StatusOr<Config> config = ParseConfig(root);
      if (*in_root != '\0' && *in_text != '\0' && *in_root != *in_text) {
        EXPECT_THAT(
            config,
            StatusIs(absl::StatusCode::kInvalidArgument,
                     absl::StrFormat("tie_word_embeddings is %s, but "
                                     "text_config.tie_word_embeddings is %s",
                                     in_root, in_text)));
        continue;
      }
      ASSERT_OK(config);
      EXPECT_EQ(config->tie_word_embeddings,
                *in_root == 't' || *in_text == 't');
    }
  }
}

TEST(ConfigTest, AcceptsOtherDimensionsThatFitTogether) {
  json::Value text = PublishedText();
  Set(text, "hidden_size", "16");
  Set(text, "head_dim", "10");
  Set(text, "rope_parameters.partial_rotary_factor", "0.7");  // floor(7.0)
  Set(text, "rope_parameters.mrope_section", nullptr);
  EXPECT_THAT(ParseConfig(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("partial_rotary_factor")));
  Set(text, "rope_parameters.partial_rotary_factor", "0.69");  // floor(6.9)
  Set(text, "rope_parameters.mrope_section", "[1, 2, 0]");
  Set(text, "linear_num_key_heads", "3");
  Set(text, "linear_num_value_heads", "9");
  Set(text, "linear_key_head_dim", "6");
  Set(text, "linear_value_head_dim", "5");
  Set(text, "linear_conv_kernel_dim", "3");
  ASSERT_OK_AND_ASSIGN(const Config config, ParseConfig(text));
  EXPECT_EQ(config.rotary_dim, 6);
  EXPECT_EQ(config.conv_dim(), 2 * 18 + 45);
  EXPECT_EQ(config.conv_kernel, 3);
}

TEST(ConfigTest, RefusesEachBadValueByName) {
  struct Case {
    std::string key;
    const char* value;  // Null removes the key.
    std::string message;
  };
  const std::vector<Case> cases = {
      {"hidden_size", nullptr, "hidden_size is missing"},
      {"hidden_size", "0", "hidden_size is 0, expected an integer of 1"},
      {"hidden_size", "2560.0", "hidden_size is 2560.0, expected an integer"},
      {"hidden_size", "\"8\"", "hidden_size is \"8\", expected an integer"},
      {"hidden_size", "99999999999", "hidden_size is 99999999999"},
      {"hidden_size", "12", "hidden_size is 12, expected a multiple of 8"},
      {"intermediate_size", nullptr, "intermediate_size is missing"},
      {"intermediate_size", "-1", "intermediate_size is -1"},
      {"vocab_size", "0", "vocab_size is 0"},
      {"num_hidden_layers", nullptr, "num_hidden_layers is missing"},
      {"num_hidden_layers", "3", "is 3, but layer_types has 4"},
      {"num_hidden_layers", "100000", "num_hidden_layers is 100000"},
      {"layer_types", "{}", "layer_types is {}, expected an array"},
      {"layer_types", "[\"full\"]", "a layer type is \"full\", expected"},
      {"num_attention_heads", nullptr, "num_attention_heads is missing"},
      {"num_attention_heads", "6", "num_attention_heads is 6, expected a mult"},
      {"num_key_value_heads", nullptr, "num_key_value_heads is missing"},
      {"num_key_value_heads", "0", "num_key_value_heads is 0"},
      {"head_dim", nullptr, "head_dim is missing"},
      {"head_dim", "8192", "head_dim is 8192, expected an integer of 1 to"},
      {"attn_output_gate", "false", "attn_output_gate is false, expected true"},
      {"attention_bias", "true", "attention_bias is true, expected false"},
      {"hidden_act", "\"gelu\"", "hidden_act is \"gelu\", expected \"silu\""},
      {"rope_parameters", "[]", "rope_parameters is [], expected an object"},
      {"rope_parameters", nullptr, "rope_theta is missing"},
      {"rope_parameters.rope_theta", "0", "rope_theta is 0, expected a finite"},
      {"rope_parameters.rope_theta", "-1e4", "rope_theta is -10000.0"},
      {"rope_parameters.rope_theta", "\"1\"", "rope_theta is \"1\""},
      {"rope_parameters.rope_type", "\"yarn\"", "rope_type is \"yarn\""},
      {"rope_parameters.type", "\"linear\"", "type is \"linear\", expected"},
      {"rope_scaling", R"({"type": "yarn", "factor": 4.0})",
       R"(rope_scaling is {"type": "yarn", "factor": 4.0}, expected null)"},
      {"rope_scaling", R"({"rope_type": "dynamic"})", "rope_scaling is"},
      {"rope_scaling", R"({"rope_type": "default", "type": "yarn"})",
       "rope_scaling is"},
      {"rope_scaling", R"({"rope_type": "yarn", "type": "default"})",
       "rope_scaling is"},
      {"rope_scaling", R"({"factor": 2.0})", "rope_scaling is"},
      {"rope_scaling", "4", "rope_scaling is 4"},
      {"rope_parameters.mrope_interleaved", "false",
       "mrope_interleaved is false, expected true"},
      {"rope_parameters.mrope_section", "[11, 11, 11]",
       "three integers whose sum is 32"},
      {"rope_parameters.mrope_section", "[16, 16]",
       "mrope_section is [16, 16]"},
      {"rope_parameters.mrope_section", "[33, -1, 0]", "mrope_section is"},
      {"rope_parameters.mrope_section", "[11, 11, 10.0]", "mrope_section is"},
      {"rope_parameters.partial_rotary_factor", "0", "partial_rotary_factor"},
      {"rope_parameters.partial_rotary_factor", "1.01",
       "partial_rotary_factor is 1.01"},
      {"rope_parameters.partial_rotary_factor", "true",
       "partial_rotary_factor is true"},
      {"rope_parameters.partial_rotary_factor", "0.5",
       "three integers whose sum is 64"},
      {"linear_num_key_heads", nullptr, "linear_num_key_heads is missing"},
      {"linear_num_value_heads", nullptr, "linear_num_value_heads is missing"},
      {"linear_num_value_heads", "24", "is 24, expected a multiple of"},
      {"linear_key_head_dim", "0", "linear_key_head_dim is 0"},
      {"linear_value_head_dim", "1e2", "linear_value_head_dim is 100.0"},
      {"linear_conv_kernel_dim", "0", "linear_conv_kernel_dim is 0"},
      {"rms_norm_eps", nullptr, "rms_norm_eps is missing"},
      {"rms_norm_eps", "0", "rms_norm_eps is 0, expected a finite number"},
      {"max_position_embeddings", nullptr,
       "max_position_embeddings is missing"},
      {"max_position_embeddings", "16777217", "an integer of 1 to 16777216"},
      {"tie_word_embeddings", "1", "tie_word_embeddings is 1, expected true"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    json::Value text = PublishedText();
    Set(text, c.key, c.value);
    EXPECT_THAT(ParseConfig(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr(c.message)));
  }
}

TEST(ConfigTest, RefusesOtherShapesOfTheFile) {
  EXPECT_THAT(ParseConfig(json::Array{}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the configuration is not an object"));
  EXPECT_THAT(ParseConfig(json::Object{{"text_config", "x"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("text_config is \"x\"")));
}

TEST(ConfigTest, LoadNamesTheFile) {
  const std::string path = ::testing::TempDir() + "/config.json";
  ASSERT_OK(WriteFile(path, "{}"));
  EXPECT_THAT(LoadConfig(path), StatusIs(absl::StatusCode::kInvalidArgument,
                                         path + ": hidden_size is missing"));
  EXPECT_THAT(LoadConfig(path + "x"),
              StatusIs(absl::StatusCode::kNotFound, StartsWith(path + "x")));
}

}  // namespace
}  // namespace omni::qwen3_5
