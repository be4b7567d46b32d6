#include "workers/model/qwen3_5/formula_weights.h"

#include <cmath>
#include <utility>
#include <vector>

#include "workers/model/qwen3_5/tensors.h"

namespace omni::qwen3_5 {

double FormulaValue(int tensor, int64_t index) {
  const double i = static_cast<double>(index);
  return 0.5 * std::sin(1.7 * i + 0.013 * i * i + 0.9 * tensor + 0.3);
}

FormulaModel MakeFormulaModel(const Config& config, const std::string& prefix) {
  FormulaModel model;
  model.config = config;
  int number = 0;
  for (TensorSpec& tensor : TextTensors(config)) {
    int64_t size = 1;
    for (const int64_t extent : tensor.shape) size *= extent;
    std::vector<float> values;
    values.reserve(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) {
      values.push_back(static_cast<float>(FormulaValue(number, i)));
    }
    model.weights.Add(prefix + tensor.name, std::move(tensor.shape),
                      std::move(values));
    ++number;
  }
  return model;
}

Config SmallFormulaConfig() {
  return {
      .hidden_size = 8,
      .intermediate_size = 12,
      .vocab_size = 11,
      .layers = {LayerType::kLinearAttention, LayerType::kFullAttention},
      .num_attention_heads = 2,
      .num_key_value_heads = 1,
      .head_dim = 8,
      .rotary_dim = 4,
      .rope_theta = 10000,
      .linear_num_key_heads = 1,
      .linear_num_value_heads = 2,
      .linear_key_head_dim = 4,
      .linear_value_head_dim = 4,
      .rms_norm_eps = 1e-6,
      .max_position_embeddings = 4096,
      .tie_word_embeddings = true,
  };
}

Config RatioFormulaConfig() {
  return {
      .hidden_size = 12,
      .intermediate_size = 10,
      .vocab_size = 13,
      .layers = {LayerType::kLinearAttention, LayerType::kFullAttention,
                 LayerType::kLinearAttention},
      .num_attention_heads = 8,
      .num_key_value_heads = 2,
      .head_dim = 8,
      .rotary_dim = 4,
      .rope_theta = 100,
      .linear_num_key_heads = 2,
      .linear_num_value_heads = 6,
      .linear_key_head_dim = 4,
      .linear_value_head_dim = 3,
      .rms_norm_eps = 0.01,
      .max_position_embeddings = 4096,
      .tie_word_embeddings = true,
  };
}

}  // namespace omni::qwen3_5
