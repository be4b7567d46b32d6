#include "tools/checkpoint/shapes.h"

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace omni {
namespace {

using ::omni::qwen3_5::Config;
using ::omni::qwen3_5::LayerType;

// What the published sizes differ in, and the demo from them.
struct Shape {
  std::string_view name;
  int hidden_size;
  int intermediate_size;
  int layer_count;  // Every fourth is a full-attention layer.
  int num_attention_heads;
  int num_key_value_heads;
  int linear_num_key_heads;
  int linear_num_value_heads;
  int vocab_size;
  int max_position_embeddings;
  bool tie_word_embeddings;
};

constexpr Shape kShapes[] = {
    {"demo", 64, 192, 4, 4, 2, 2, 4, 512, 32768, true},
    {"qwen3.5-0.8b", 1024, 3584, 24, 8, 2, 16, 16, 248320, 262144, true},
    {"qwen3.5-2b", 2048, 6144, 24, 8, 2, 16, 16, 248320, 262144, true},
    {"qwen3.5-4b", 2560, 9216, 32, 16, 4, 16, 32, 248320, 262144, true},
    {"qwen3.5-9b", 4096, 12288, 32, 16, 4, 16, 32, 248320, 262144, false},
    {"qwen3.5-27b", 5120, 17408, 64, 24, 4, 16, 48, 248320, 262144, false},
};

constexpr int kFullAttentionInterval = 4;

}  // namespace

std::vector<std::string> ShapeNames() {
  std::vector<std::string> names;
  for (const Shape& shape : kShapes) names.emplace_back(shape.name);
  return names;
}

absl::StatusOr<Config> FindShape(std::string_view name) {
  for (const Shape& shape : kShapes) {
    if (shape.name != name) continue;
    Config config = {
        .hidden_size = shape.hidden_size,
        .intermediate_size = shape.intermediate_size,
        .vocab_size = shape.vocab_size,
        .layers = {},
        .num_attention_heads = shape.num_attention_heads,
        .num_key_value_heads = shape.num_key_value_heads,
        .head_dim = 256,
        .rotary_dim = 64,
        .rope_theta = 1e7,
        .linear_num_key_heads = shape.linear_num_key_heads,
        .linear_num_value_heads = shape.linear_num_value_heads,
        .linear_key_head_dim = 128,
        .linear_value_head_dim = 128,
        .rms_norm_eps = 1e-6,
        .max_position_embeddings = shape.max_position_embeddings,
        .tie_word_embeddings = shape.tie_word_embeddings,
    };
    for (int i = 1; i <= shape.layer_count; ++i) {
      config.layers.push_back(i % kFullAttentionInterval == 0
                                  ? LayerType::kFullAttention
                                  : LayerType::kLinearAttention);
    }
    return config;
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("no shape \"%s\"; there are %s", name,
                      absl::StrJoin(ShapeNames(), ", ")));
}

std::string ConfigJson(const Config& config) {
  std::vector<std::string> layers;
  for (const LayerType layer : config.layers) {
    layers.push_back(layer == LayerType::kFullAttention
                         ? "\"full_attention\""
                         : "\"linear_attention\"");
  }
  const std::string_view tied = config.tie_word_embeddings ? "true" : "false";
  const int rotary_half = config.rotary_dim / 2;
  const int side = rotary_half / 3;
  std::string text = "{\n";
  absl::StrAppendFormat(
      &text,
      "  \"architectures\": [\"Qwen3_5ForConditionalGeneration\"],\n"
      "  \"model_type\": \"qwen3_5\",\n"
      "  \"tie_word_embeddings\": %s,\n"
      "  \"text_config\": {\n"
      "    \"attention_bias\": false,\n"
      "    \"attn_output_gate\": true,\n"
      "    \"dtype\": \"bfloat16\",\n",
      tied);
  absl::StrAppendFormat(&text,
                        "    \"head_dim\": %d,\n"
                        "    \"hidden_act\": \"silu\",\n"
                        "    \"hidden_size\": %d,\n"
                        "    \"intermediate_size\": %d,\n"
                        "    \"layer_types\": [%s],\n",
                        config.head_dim, config.hidden_size,
                        config.intermediate_size, absl::StrJoin(layers, ", "));
  absl::StrAppendFormat(
      &text,
      "    \"linear_conv_kernel_dim\": %d,\n"
      "    \"linear_key_head_dim\": %d,\n"
      "    \"linear_num_key_heads\": %d,\n"
      "    \"linear_num_value_heads\": %d,\n"
      "    \"linear_value_head_dim\": %d,\n"
      "    \"max_position_embeddings\": %d,\n"
      "    \"model_type\": \"qwen3_5_text\",\n",
      config.conv_kernel, config.linear_key_head_dim,
      config.linear_num_key_heads, config.linear_num_value_heads,
      config.linear_value_head_dim, config.max_position_embeddings);
  absl::StrAppendFormat(&text,
                        "    \"num_attention_heads\": %d,\n"
                        "    \"num_hidden_layers\": %d,\n"
                        "    \"num_key_value_heads\": %d,\n"
                        "    \"rms_norm_eps\": %g,\n"
                        "    \"rope_parameters\": {\n"
                        "      \"mrope_interleaved\": true,\n"
                        "      \"mrope_section\": [%d, %d, %d],\n"
                        "      \"partial_rotary_factor\": 0.25,\n"
                        "      \"rope_theta\": %.0f,\n"
                        "      \"rope_type\": \"default\"\n"
                        "    },\n",
                        config.num_attention_heads, config.layers.size(),
                        config.num_key_value_heads, config.rms_norm_eps,
                        side + 1, side + 1, rotary_half - 2 * (side + 1),
                        config.rope_theta);
  absl::StrAppendFormat(&text,
                        "    \"tie_word_embeddings\": %s,\n"
                        "    \"vocab_size\": %d\n"
                        "  }\n"
                        "}\n",
                        tied, config.vocab_size);
  return text;
}

}  // namespace omni
