#ifndef OMNI_WORKERS_MODEL_QWEN3_5_CONFIG_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/json/value.h"

namespace omni::qwen3_5 {

enum class LayerType { kLinearAttention, kFullAttention };

// Dimensions of a Qwen3.5 text model, from the checkpoint's config.json.
struct Config {
  int hidden_size = 0;
  int intermediate_size = 0;
  int vocab_size = 0;
  std::vector<LayerType> layers;
  // Full attention.
  int num_attention_heads = 0;
  int num_key_value_heads = 0;  // Divides num_attention_heads.
  int head_dim = 0;
  int rotary_dim = 0;  // Even; the leading part of a head that is rotated.
  double rope_theta = 0;
  // Gated DeltaNet.
  int linear_num_key_heads = 0;
  int linear_num_value_heads = 0;  // A multiple of linear_num_key_heads.
  int linear_key_head_dim = 0;
  int linear_value_head_dim = 0;
  int conv_kernel = 4;
  double rms_norm_eps = 0;
  int max_position_embeddings = 0;
  bool tie_word_embeddings = false;

  int key_dim() const { return linear_num_key_heads * linear_key_head_dim; }
  int value_dim() const {
    return linear_num_value_heads * linear_value_head_dim;
  }
  int conv_dim() const { return 2 * key_dim() + value_dim(); }
};

// Reads `text_config` if the object has one, else the object itself.
//
// Errors: INVALID_ARGUMENT that names the key, the value and what is allowed.
absl::StatusOr<Config> ParseConfig(const json::Value& root);

// ParseConfig of a file; errors begin with its path.
absl::StatusOr<Config> LoadConfig(const std::string& path);

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_CONFIG_H_
