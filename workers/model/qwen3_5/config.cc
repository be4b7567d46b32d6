#include "workers/model/qwen3_5/config.h"

#include <cmath>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "runtime/base/request_error.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/json_file.h"
#include "runtime/json/render.h"

namespace omni::qwen3_5 {
namespace {

// Bounds that keep every product of two dimensions within an int; no model
// comes near them.
constexpr int kMaxHeads = 1 << 12;
constexpr int kMaxHeadDim = 1 << 12;
constexpr int kMaxLayers = 1 << 12;
constexpr int kMaxWidth = 1 << 24;
constexpr int kMaxPositions = 1 << 24;

constexpr double kDefaultRotaryFactor = 0.25;

// Null counts as absent: exporters write it for keys that they do not set.
const json::Value* FindSet(const json::Value& object, std::string_view key) {
  const json::Value* value = object.Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

absl::Status Error(std::string_view key, const json::Value& value,
                   std::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s is %s, expected %s", key,
      CutAtCharacter(json::Dump(value, json::Dialect::kStrict), 100), allowed));
}

absl::Status Missing(std::string_view key) {
  return absl::InvalidArgumentError(absl::StrFormat("%s is missing", key));
}

// An integer of 1 to `max`; `fallback` if absent, an error if that is unset.
absl::StatusOr<int> ReadInt(const json::Value& object, std::string_view key,
                            int max,
                            std::optional<int> fallback = std::nullopt) {
  const json::Value* value = FindSet(object, key);
  if (value == nullptr) {
    if (fallback.has_value()) return *fallback;
    return Missing(key);
  }
  const std::optional<int64_t> number = IntegerOf(*value);
  if (!number.has_value() || *number < 1 || *number > max) {
    return Error(key, *value, absl::StrFormat("an integer of 1 to %d", max));
  }
  return static_cast<int>(*number);
}

absl::StatusOr<double> PositiveNumber(std::string_view key,
                                      const json::Value& value) {
  const std::optional<double> number = DoubleOf(value);
  if (!number.has_value() || !(*number > 0)) {
    return Error(key, value, "a finite number above 0");
  }
  return *number;
}

// `allowed` or absent.
absl::Status CheckBool(const json::Value& object, std::string_view key,
                       bool allowed) {
  const json::Value* value = FindSet(object, key);
  if (value == nullptr ||
      (value->is_bool() && value->bool_value() == allowed)) {
    return absl::OkStatus();
  }
  return Error(key, *value, allowed ? "true" : "false");
}

// `allowed` or absent.
absl::Status CheckString(const json::Value& object, std::string_view key,
                         std::string_view allowed) {
  const json::Value* value = FindSet(object, key);
  if (value == nullptr || (value->is_string() && value->string() == allowed)) {
    return absl::OkStatus();
  }
  return Error(key, *value, absl::StrFormat("\"%s\"", allowed));
}

absl::StatusOr<std::vector<LayerType>> ReadLayers(const json::Value& text) {
  ASSIGN_OR_RETURN(const int count,
                   ReadInt(text, "num_hidden_layers", kMaxLayers));
  std::vector<LayerType> layers;
  const json::Value* types = FindSet(text, "layer_types");
  if (types == nullptr) {
    ASSIGN_OR_RETURN(const int interval,
                     ReadInt(text, "full_attention_interval", kMaxLayers, 4));
    for (int i = 0; i < count; ++i) {
      layers.push_back((i + 1) % interval == 0 ? LayerType::kFullAttention
                                               : LayerType::kLinearAttention);
    }
    return layers;
  }
  if (!types->is_array()) return Error("layer_types", *types, "an array");
  for (const json::Value& type : types->array()) {
    if (type == json::Value("full_attention")) {
      layers.push_back(LayerType::kFullAttention);
    } else if (type == json::Value("linear_attention")) {
      layers.push_back(LayerType::kLinearAttention);
    } else {
      return Error("a layer type", type,
                   "\"full_attention\" or \"linear_attention\"");
    }
  }
  if (layers.size() != static_cast<size_t>(count)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("num_hidden_layers is %d, but layer_types has %d",
                        count, layers.size()));
  }
  return layers;
}

// mRoPE gives all three sections the same positions when there is only text, so
// the sections are checked and otherwise not used.
absl::Status CheckSections(const json::Value& rope, int rotary_half) {
  const json::Value* sections = FindSet(rope, "mrope_section");
  if (sections == nullptr) return absl::OkStatus();
  int64_t sum = 0;
  bool valid = sections->is_array() && sections->array().size() == 3;
  if (valid) {
    for (const json::Value& section : sections->array()) {
      const int64_t size = IntegerOf(section).value_or(-1);
      valid = valid && size >= 0 && size <= rotary_half;
      sum += valid ? size : 0;
    }
  }
  if (valid && sum == rotary_half) return absl::OkStatus();
  return Error("mrope_section", *sections,
               absl::StrFormat("three integers whose sum is %d", rotary_half));
}

// Older files keep the type under "type", and what belongs to it in
// "rope_scaling". One that says nothing of a type says nothing that is known.
absl::Status CheckRopeScaling(const json::Value& text) {
  const json::Value* scaling = FindSet(text, "rope_scaling");
  if (scaling == nullptr) return absl::OkStatus();
  bool is_default = false;
  for (const std::string_view key : {"rope_type", "type"}) {
    const json::Value* type = FindSet(*scaling, key);
    if (type == nullptr) continue;
    is_default = *type == json::Value("default");
    if (!is_default) break;
  }
  if (is_default) return absl::OkStatus();
  return Error("rope_scaling", *scaling, "null or the type \"default\"");
}

absl::Status ReadRope(const json::Value& text, Config& config) {
  RETURN_IF_ERROR(CheckRopeScaling(text));
  const json::Value none = json::Object();
  const json::Value* rope = FindSet(text, "rope_parameters");
  if (rope == nullptr) rope = &none;
  if (!rope->is_object()) {
    return Error("rope_parameters", *rope, "an object");
  }
  RETURN_IF_ERROR(CheckString(*rope, "rope_type", "default"));
  RETURN_IF_ERROR(CheckString(*rope, "type", "default"));
  RETURN_IF_ERROR(CheckBool(*rope, "mrope_interleaved", true));

  const json::Value* theta = FindSet(*rope, "rope_theta");
  if (theta == nullptr) theta = FindSet(text, "rope_theta");
  if (theta == nullptr) return Missing("rope_theta");
  ASSIGN_OR_RETURN(config.rope_theta, PositiveNumber("rope_theta", *theta));

  const json::Value* factor = FindSet(*rope, "partial_rotary_factor");
  if (factor == nullptr) factor = FindSet(text, "partial_rotary_factor");
  const double share =
      factor == nullptr ? kDefaultRotaryFactor : DoubleOf(*factor).value_or(-1);
  const double rotary = std::floor(config.head_dim * share);
  if (!(rotary >= 2 && rotary <= config.head_dim) ||
      static_cast<int>(rotary) % 2 != 0) {
    return Error(
        "partial_rotary_factor",
        factor == nullptr ? json::Value(json::Number{"0.25"}) : *factor,
        absl::StrFormat("a share of head_dim (%d) that is even and "
                        "not below 2",
                        config.head_dim));
  }
  config.rotary_dim = static_cast<int>(rotary);
  return CheckSections(*rope, config.rotary_dim / 2);
}

// The key is at either place, or at both with the same value: which one counts
// where they differ depends on the reader.
absl::StatusOr<bool> ReadTied(const json::Value& root,
                              const json::Value& text) {
  std::optional<bool> tied;
  for (const json::Value* object : {&root, &text}) {
    const json::Value* value = FindSet(*object, "tie_word_embeddings");
    if (value == nullptr) continue;
    if (!value->is_bool()) {
      return Error("tie_word_embeddings", *value, "true or false");
    }
    if (tied.has_value() && *tied != value->bool_value()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "tie_word_embeddings is %s, but text_config.tie_word_embeddings is "
          "%s",
          *tied ? "true" : "false", *tied ? "false" : "true"));
    }
    tied = value->bool_value();
  }
  return tied.value_or(false);
}

}  // namespace

absl::StatusOr<Config> ParseConfig(const json::Value& root) {
  if (!root.is_object()) {
    return absl::InvalidArgumentError("the configuration is not an object");
  }
  const json::Value* text_config = FindSet(root, "text_config");
  if (text_config != nullptr && !text_config->is_object()) {
    return Error("text_config", *text_config, "an object");
  }
  const json::Value& text = text_config != nullptr ? *text_config : root;

  Config config;
  ASSIGN_OR_RETURN(config.hidden_size, ReadInt(text, "hidden_size", kMaxWidth));
  if (config.hidden_size % 8 != 0) {
    return Error("hidden_size", *text.Find("hidden_size"), "a multiple of 8");
  }
  ASSIGN_OR_RETURN(config.intermediate_size,
                   ReadInt(text, "intermediate_size", kMaxWidth));
  ASSIGN_OR_RETURN(config.vocab_size,
                   ReadInt(text, "vocab_size", kMaxWidth, 248320));
  ASSIGN_OR_RETURN(config.layers, ReadLayers(text));

  ASSIGN_OR_RETURN(config.num_attention_heads,
                   ReadInt(text, "num_attention_heads", kMaxHeads));
  ASSIGN_OR_RETURN(config.num_key_value_heads,
                   ReadInt(text, "num_key_value_heads", kMaxHeads));
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "num_attention_heads is %d, expected a multiple of "
        "num_key_value_heads, which is %d",
        config.num_attention_heads, config.num_key_value_heads));
  }
  ASSIGN_OR_RETURN(config.head_dim, ReadInt(text, "head_dim", kMaxHeadDim));
  RETURN_IF_ERROR(CheckBool(text, "attn_output_gate", true));
  RETURN_IF_ERROR(CheckBool(text, "attention_bias", false));
  RETURN_IF_ERROR(CheckString(text, "hidden_act", "silu"));
  RETURN_IF_ERROR(ReadRope(text, config));

  ASSIGN_OR_RETURN(config.linear_num_key_heads,
                   ReadInt(text, "linear_num_key_heads", kMaxHeads));
  ASSIGN_OR_RETURN(config.linear_num_value_heads,
                   ReadInt(text, "linear_num_value_heads", kMaxHeads));
  if (config.linear_num_value_heads % config.linear_num_key_heads != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "linear_num_value_heads is %d, expected a multiple of "
        "linear_num_key_heads, which is %d",
        config.linear_num_value_heads, config.linear_num_key_heads));
  }
  ASSIGN_OR_RETURN(config.linear_key_head_dim,
                   ReadInt(text, "linear_key_head_dim", kMaxHeadDim, 128));
  ASSIGN_OR_RETURN(config.linear_value_head_dim,
                   ReadInt(text, "linear_value_head_dim", kMaxHeadDim, 128));
  ASSIGN_OR_RETURN(config.conv_kernel,
                   ReadInt(text, "linear_conv_kernel_dim", kMaxHeadDim, 4));

  const json::Value* eps = FindSet(text, "rms_norm_eps");
  if (eps == nullptr) return Missing("rms_norm_eps");
  ASSIGN_OR_RETURN(config.rms_norm_eps, PositiveNumber("rms_norm_eps", *eps));
  ASSIGN_OR_RETURN(config.max_position_embeddings,
                   ReadInt(text, "max_position_embeddings", kMaxPositions));
  ASSIGN_OR_RETURN(config.tie_word_embeddings, ReadTied(root, text));
  return config;
}

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const json::Value root, ReadJsonFile(path));
  absl::StatusOr<Config> config = ParseConfig(root);
  if (!config.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: %s", path, config.status().message()));
  }
  return config;
}

}  // namespace omni::qwen3_5
