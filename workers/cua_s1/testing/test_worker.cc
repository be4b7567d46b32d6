#include "workers/cua_s1/testing/test_worker.h"

#include <utility>
#include <vector>

#include "runtime/base/status_macros.h"
#include "workers/model/tokenizer.h"

namespace omni::testing {
namespace {

constexpr char kTokenizerFile[] = "tools/checkpoint/demo/tokenizer.json";
constexpr int kVocabSize = 2048;

}  // namespace

qwen3_5::Config SmallConfig() {
  qwen3_5::Config config;
  config.hidden_size = 2;
  config.vocab_size = kVocabSize;
  config.max_position_embeddings = 1 << 20;
  config.tie_word_embeddings = true;
  return config;
}

qwen3_5::Config PublishedConfig() {
  qwen3_5::Config config;
  config.hidden_size = 2560;
  config.intermediate_size = 9216;
  config.vocab_size = 248320;
  for (int i = 0; i < 32; ++i) {
    config.layers.push_back(i % 4 == 3 ? qwen3_5::LayerType::kFullAttention
                                       : qwen3_5::LayerType::kLinearAttention);
  }
  config.num_attention_heads = 16;
  config.num_key_value_heads = 4;
  config.head_dim = 256;
  config.rotary_dim = 64;
  config.linear_num_key_heads = 16;
  config.linear_num_value_heads = 32;
  config.linear_key_head_dim = 128;
  config.linear_value_head_dim = 128;
  config.tie_word_embeddings = true;
  return config;
}

FakeWeights SmallEmbedding() {
  std::vector<float> rows;
  for (int i = 0; i < kVocabSize; ++i) {
    rows.push_back(static_cast<float>(i));
    rows.push_back(1);
  }
  FakeWeights weights;
  weights.Add("model.embed_tokens.weight", {kVocabSize, 2}, std::move(rows));
  return weights;
}

cua_s1::Identity TestIdentity() {
  cua_s1::Identity identity;
  identity.request_model = "test-model";
  identity.response_model = "test/model@1";
  identity.revision = "1";
  identity.notice = "For tests.";
  identity.published = false;
  return identity;
}

absl::StatusOr<TestWorker> MakeTestWorker(const qwen3_5::Config& config) {
  ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::FromFile(kTokenizerFile));
  auto decoder = std::make_unique<FakeDecoder>(config);
  FakeDecoder* const fake = decoder.get();
  FakeWeights weights = SmallEmbedding();
  ASSIGN_OR_RETURN(auto worker,
                   cua_s1::CuaS1Worker::Create(
                       TestIdentity(), std::move(tokenizer), std::move(decoder),
                       weights, {"cpu", "f32", 2}));
  return TestWorker{std::move(worker), fake};
}

}  // namespace omni::testing
