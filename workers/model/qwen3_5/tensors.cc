#include "workers/model/qwen3_5/tensors.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace omni::qwen3_5 {

std::string LayerPrefix(int layer) {
  return absl::StrFormat("layers.%d.", layer);
}

std::vector<TensorSpec> TextTensors(const Config& config) {
  std::vector<TensorSpec> tensors;
  const auto add = [&tensors](std::string name, std::vector<int64_t> shape) {
    tensors.push_back({std::move(name), std::move(shape)});
  };
  const int64_t hidden = config.hidden_size;
  const int64_t inner = config.intermediate_size;
  const int64_t head_dim = config.head_dim;
  const int64_t query_dim = config.num_attention_heads * head_dim;
  const int64_t kv_dim = config.num_key_value_heads * head_dim;
  const int64_t value_heads = config.linear_num_value_heads;

  add("embed_tokens.weight", {config.vocab_size, hidden});
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const std::string layer = LayerPrefix(static_cast<int>(i));
    switch (config.layers[i]) {
      case LayerType::kLinearAttention: {
        const std::string mixer = layer + "linear_attn.";
        add(mixer + "in_proj_qkv.weight", {config.conv_dim(), hidden});
        add(mixer + "in_proj_z.weight", {config.value_dim(), hidden});
        add(mixer + "in_proj_b.weight", {value_heads, hidden});
        add(mixer + "in_proj_a.weight", {value_heads, hidden});
        add(mixer + "conv1d.weight",
            {config.conv_dim(), 1, config.conv_kernel});
        add(mixer + "A_log", {value_heads});
        add(mixer + "dt_bias", {value_heads});
        add(mixer + "norm.weight", {config.linear_value_head_dim});
        add(mixer + "out_proj.weight", {hidden, config.value_dim()});
        break;
      }
      case LayerType::kFullAttention: {
        const std::string mixer = layer + "self_attn.";
        // Each head's query rows are followed by its gate rows.
        add(mixer + "q_proj.weight", {2 * query_dim, hidden});
        add(mixer + "k_proj.weight", {kv_dim, hidden});
        add(mixer + "v_proj.weight", {kv_dim, hidden});
        add(mixer + "o_proj.weight", {hidden, query_dim});
        add(mixer + "q_norm.weight", {head_dim});
        add(mixer + "k_norm.weight", {head_dim});
        break;
      }
    }
    add(layer + "input_layernorm.weight", {hidden});
    add(layer + "post_attention_layernorm.weight", {hidden});
    add(layer + "mlp.gate_proj.weight", {inner, hidden});
    add(layer + "mlp.up_proj.weight", {inner, hidden});
    add(layer + "mlp.down_proj.weight", {hidden, inner});
  }
  add("norm.weight", {hidden});
  return tensors;
}

absl::StatusOr<std::string> ResolvePrefix(const WeightSource& source) {
  constexpr std::string_view kEmbedding = "embed_tokens.weight";
  for (const std::string_view prefix :
       {"model.language_model.", "model.", ""}) {
    const std::string name = absl::StrFormat("%s%s", prefix, kEmbedding);
    if (source.Find(name) != nullptr) return std::string(prefix);
  }
  return absl::NotFoundError(
      "no embedding: looked for model.language_model.embed_tokens.weight, "
      "model.embed_tokens.weight and embed_tokens.weight");
}

}  // namespace omni::qwen3_5
