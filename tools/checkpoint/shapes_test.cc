#include "tools/checkpoint/shapes.h"

#include <algorithm>
#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni {
namespace {

using ::omni::qwen3_5::Config;
using ::omni::qwen3_5::LayerType;
using ::omni::qwen3_5::TensorSpec;
using ::omni::testing::StatusIs;
using ::testing::HasSubstr;

// Values of the embedding, then of all other tensors.
std::pair<int64_t, int64_t> Count(const Config& config) {
  int64_t embedding = 0;
  int64_t rest = 0;
  for (const TensorSpec& tensor : qwen3_5::TextTensors(config)) {
    int64_t size = 1;
    for (const int64_t extent : tensor.shape) size *= extent;
    (tensor.name == "embed_tokens.weight" ? embedding : rest) += size;
  }
  return {embedding, rest};
}

TEST(ShapesTest, PublishedSizesHaveTheirParameters) {
  struct Case {
    std::string name;
    int64_t embedding;
    int64_t rest;
  };
  for (const Case& c : {Case{"qwen3.5-0.8b", 254279680, 498113344},
                        Case{"qwen3.5-2b", 508559360, 1373265728},
                        Case{"qwen3.5-4b", 635699200, 3570052096},
                        Case{"qwen3.5-9b", 1017118720, 6919565824},
                        Case{"qwen3.5-27b", 1271398400, 24353201664}}) {
    SCOPED_TRACE(c.name);
    ASSERT_OK_AND_ASSIGN(const Config config, FindShape(c.name));
    EXPECT_EQ(Count(config), std::make_pair(c.embedding, c.rest));
  }
}

TEST(ShapesTest, DemoHasBothKindsOfLayersAndRealHeads) {
  ASSERT_OK_AND_ASSIGN(const Config config, FindShape("demo"));
  EXPECT_GE(config.layers.size(), 4);
  for (const LayerType type :
       {LayerType::kLinearAttention, LayerType::kFullAttention}) {
    EXPECT_GE(std::count(config.layers.begin(), config.layers.end(), type), 1);
  }
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.linear_key_head_dim, 128);
  EXPECT_EQ(config.linear_value_head_dim, 128);
  EXPECT_EQ(config.linear_num_value_heads, 2 * config.linear_num_key_heads);
}

TEST(ShapesTest, ConfigTextReadsBackTheSame) {
  for (const std::string& name : ShapeNames()) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const Config config, FindShape(name));
    ASSERT_OK_AND_ASSIGN(const json::Value root,
                         ParseJson(ConfigJson(config), "text"));
    ASSERT_OK_AND_ASSIGN(const Config read, qwen3_5::ParseConfig(root));
    EXPECT_EQ(Count(read), Count(config));
    EXPECT_EQ(read.layers, config.layers);
    EXPECT_EQ(read.rotary_dim, config.rotary_dim);
    EXPECT_EQ(read.rope_theta, config.rope_theta);
    EXPECT_EQ(read.rms_norm_eps, config.rms_norm_eps);
    EXPECT_EQ(read.max_position_embeddings, config.max_position_embeddings);
    EXPECT_EQ(read.tie_word_embeddings, config.tie_word_embeddings);
  }
}

TEST(ShapesTest, UnknownNameListsTheKnown) {
  EXPECT_THAT(FindShape("qwen3"), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("demo, qwen3.5-0.8b")));
}

}  // namespace
}  // namespace omni
