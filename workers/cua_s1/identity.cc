#include "workers/cua_s1/identity.h"

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
  bool renamed = false;
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
  if (marker->Find("response_model") != nullptr) identity.revision.clear();
  for (const auto& field : fields) {
    const json::Value* value = marker->Find(field.key);
    if (value == nullptr) continue;
    if (!value->is_string() || (field.names_model && value->string().empty())) {
      return error(absl::StrFormat("`%s` must be a%s string", field.key,
                                   field.names_model ? " non-empty" : ""));
    }
    renamed = renamed || (field.names_model && *field.field != value->string());
    *field.field = value->string();
  }
  identity.published = !renamed;
  return identity;
}

}  // namespace

absl::StatusOr<Identity> LoadIdentity(const std::string& checkpoint,
                                      const std::string& adapter) {
  const std::filesystem::path marker =
      std::filesystem::path(adapter.empty() ? checkpoint : adapter) /
      kMarkerFile;
  std::error_code ignored;
  if (std::filesystem::exists(marker, ignored)) {
    return ParseMarker(marker.string());
  }
  if (adapter.empty()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: no such file; a folder without it may be the base model, which "
        "needs --adapter",
        marker.string()));
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
      {"num_hidden_layers", static_cast<int>(config.layers.size()), 32},
      {"num_attention_heads", config.num_attention_heads, 16},
      {"num_key_value_heads", config.num_key_value_heads, 4},
      {"linear_num_key_heads", config.linear_num_key_heads, 16},
      {"linear_num_value_heads", config.linear_num_value_heads, 32},
      {"vocab_size", config.vocab_size, 248320},
  };
  for (const auto& dimension : shape) {
    if (dimension.actual != dimension.required) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "config.json: %s is %d; %s has %d", dimension.key, dimension.actual,
          identity.request_model, dimension.required));
    }
  }
  return absl::OkStatus();
}

}  // namespace omni::cua_s1
