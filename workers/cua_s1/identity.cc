#include "workers/cua_s1/identity.h"

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/json_file.h"
#include "runtime/json/value.h"

namespace omni::cua_s1 {

const char kSystemPrompt[] =
    "You are a one-pass computer-use decision model. You are shown the current "
    "state of a screen and a fixed, closed list of candidate (element, action) "
    "options, each given a single letter. Choose exactly one option: the "
    "single best next action to take. Answer with ONLY that option's letter -- "
    "no words, no punctuation, no explanation.";

namespace {

constexpr char kMarkerFile[] = "cua_s1_export.json";
constexpr std::string_view kFormat = "cua-s1-text-merged/1";
// Names stand in error messages, which are short.
constexpr size_t kMaxNameBytes = 256;
// Every fourth layer of the published model has full attention.
constexpr int kFullAttentionInterval = 4;

absl::StatusOr<Identity> ParseMarker(const std::string& path) {
  const auto error = [&path](std::string_view what) {
    return absl::FailedPreconditionError(absl::StrFormat("%s: %s", path, what));
  };
  const absl::StatusOr<json::Value> marker = ReadJsonFile(path);
  if (!marker.ok()) {
    return absl::FailedPreconditionError(marker.status().message());
  }
  const json::Value* format = marker->Find("format");
  if (format == nullptr || !format->is_string() ||
      format->string() != kFormat) {
    return error(absl::StrFormat("`format` must be \"%s\"", kFormat));
  }

  Identity identity;
  const struct {
    const char* key;
    std::string* field;
    bool names_model;
  } fields[] = {
      {"request_model", &identity.request_model, true},
      {"response_model", &identity.response_model, true},
      {"revision", &identity.revision, false},
      {"system_prompt", &identity.system_prompt, false},
      {"notice", &identity.notice, false},
  };
  // A checkpoint of another name does not have the published revision.
  if (const json::Value* name = marker->Find("response_model");
      name != nullptr && *name != json::Value(identity.response_model)) {
    identity.published = false;
    identity.revision.clear();
  }
  for (const auto& field : fields) {
    const json::Value* value = marker->Find(field.key);
    if (value == nullptr) continue;
    if (!value->is_string()) {
      return error(absl::StrFormat("`%s` must be a string", field.key));
    }
    const size_t size = value->string().size();
    if (field.names_model && (size < 1 || size > kMaxNameBytes)) {
      return error(absl::StrFormat("`%s` has %d bytes; it must have 1 to %d",
                                   field.key, size, kMaxNameBytes));
    }
    *field.field = value->string();
  }
  return identity;
}

absl::Status ShapeError(const Identity& identity, std::string_view key,
                        int actual, int required) {
  return absl::FailedPreconditionError(
      absl::StrFormat("config.json: %s is %d; %s has %d", key, actual,
                      identity.response_model, required));
}

}  // namespace

absl::StatusOr<Identity> LoadIdentity(const std::string& checkpoint,
                                      const std::string& adapter) {
  const auto marker_of = [](const std::string& folder) {
    return (std::filesystem::path(folder) / kMarkerFile).string();
  };
  std::error_code ignored;
  const bool merged = std::filesystem::exists(marker_of(checkpoint), ignored);
  if (adapter.empty()) {
    if (merged) return ParseMarker(marker_of(checkpoint));
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: no such file; a folder without it may be the base model, which "
        "needs --adapter",
        marker_of(checkpoint)));
  }
  if (merged) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: says that an adapter is merged already; --checkpoint must name "
        "the base model if --adapter is given",
        marker_of(checkpoint)));
  }
  if (!std::filesystem::is_directory(adapter, ignored)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("--adapter=%s: no such folder", adapter));
  }
  if (std::filesystem::exists(marker_of(adapter), ignored)) {
    return ParseMarker(marker_of(adapter));
  }
  return Identity{};
}

absl::Status CheckModel(const Identity& identity,
                        const qwen3_5::Config& config) {
  if (!config.tie_word_embeddings) {
    return absl::FailedPreconditionError(
        "config.json: tie_word_embeddings must be true; output embeddings of "
        "their own are not served");
  }
  if (!identity.published) return absl::OkStatus();
  const struct {
    const char* key;
    int actual;
    int required;
  } shape[] = {
      {"hidden_size", config.hidden_size, 2560},
      {"intermediate_size", config.intermediate_size, 9216},
      {"vocab_size", config.vocab_size, 248320},
      {"num_hidden_layers", static_cast<int>(config.layers.size()), 32},
      {"num_attention_heads", config.num_attention_heads, 16},
      {"num_key_value_heads", config.num_key_value_heads, 4},
      {"head_dim", config.head_dim, 256},
      {"rotary dimension", config.rotary_dim, 64},
      {"linear_num_key_heads", config.linear_num_key_heads, 16},
      {"linear_num_value_heads", config.linear_num_value_heads, 32},
      {"linear_key_head_dim", config.linear_key_head_dim, 128},
      {"linear_value_head_dim", config.linear_value_head_dim, 128},
      {"linear_conv_kernel_dim", config.conv_kernel, 4},
  };
  for (const auto& dimension : shape) {
    if (dimension.actual != dimension.required) {
      return ShapeError(identity, dimension.key, dimension.actual,
                        dimension.required);
    }
  }
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const bool is_full = config.layers[i] == qwen3_5::LayerType::kFullAttention;
    const bool should_be = i % kFullAttentionInterval == 3;
    if (is_full != should_be) {
      return ShapeError(identity,
                        absl::StrFormat("full attention of layer %d", i),
                        is_full, should_be);
    }
  }
  return absl::OkStatus();
}

}  // namespace omni::cua_s1
