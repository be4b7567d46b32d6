#include "workers/model/qwen3_5/lora.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/json_file.h"
#include "runtime/json/value.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni::qwen3_5 {
namespace {

constexpr std::string_view kRoot = "base_model.model.";
constexpr std::string_view kSuffixA = ".lora_A.weight";
constexpr std::string_view kSuffixB = ".lora_B.weight";

// What of a layer may be adapted.
constexpr std::string_view kTargets[] = {"self_attn.q_proj",
                                         "self_attn.k_proj",
                                         "self_attn.v_proj",
                                         "self_attn.o_proj",
                                         "linear_attn.in_proj_qkv",
                                         "linear_attn.in_proj_z",
                                         "linear_attn.in_proj_b",
                                         "linear_attn.in_proj_a",
                                         "linear_attn.out_proj",
                                         "mlp.gate_proj",
                                         "mlp.up_proj",
                                         "mlp.down_proj"};

// Keys that would change the formula if they were true.
constexpr std::string_view kMustBeFalse[] = {
    "use_dora", "use_rslora", "use_qalora", "lora_bias", "fan_in_fan_out"};

// Keys that would change it if they held anything.
constexpr std::string_view kMustBeEmpty[] = {
    "modules_to_save", "rank_pattern", "alpha_pattern", "layer_replication"};

// How training may have begun: names that leave the base's weights as they
// were. After any other, A and B belong to a base that was changed with them.
constexpr std::string_view kPlainInits[] = {"gaussian", "eva", "orthogonal"};

std::string Quoted(std::string_view name) {
  return absl::StrFormat("\"%s\"", absl::Utf8SafeCEscape(absl::string_view(
                                       name.data(), name.size())));
}

bool IsEmpty(const json::Value& value) {
  return value.is_null() || (value.is_array() && value.array().empty()) ||
         (value.is_object() && value.object().empty());
}

bool LeavesBaseUnchanged(const json::Value& init) {
  if (!init.is_string()) return init.is_null() || init.is_bool();
  return std::find(std::begin(kPlainInits), std::end(kPlainInits),
                   init.string()) != std::end(kPlainInits);
}

// A string; "" if it is null or absent.
absl::StatusOr<std::string> ReadName(const json::Value& root,
                                     std::string_view key) {
  const json::Value* value = root.Find(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is not a string", key));
  }
  return value->string();
}

struct AdapterConfig {
  int rank = 0;
  double alpha = 0;
  std::string base_model;
  std::string base_revision;
};

absl::StatusOr<AdapterConfig> ParseAdapterConfig(const json::Value& root) {
  const json::Value* type = root.Find("peft_type");
  if (type == nullptr || *type != json::Value("LORA")) {
    return absl::InvalidArgumentError("peft_type is not \"LORA\"");
  }
  for (const std::string_view key : kMustBeFalse) {
    const json::Value* value = root.Find(key);
    if (value != nullptr && !value->is_null() && *value != json::Value(false)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s is set, which is not supported", key));
    }
  }
  for (const std::string_view key : kMustBeEmpty) {
    const json::Value* value = root.Find(key);
    if (value != nullptr && !IsEmpty(*value)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s is not empty, which is not supported", key));
    }
  }
  const json::Value* invocation = root.Find("alora_invocation_tokens");
  if (invocation != nullptr && !invocation->is_null()) {
    return absl::InvalidArgumentError(
        "alora_invocation_tokens is set, which is not supported");
  }
  const json::Value* init = root.Find("init_lora_weights");
  if (init != nullptr && !LeavesBaseUnchanged(*init)) {
    return absl::InvalidArgumentError(
        "init_lora_weights is neither a boolean nor one of gaussian, eva and "
        "orthogonal; others change the base model's weights");
  }
  const json::Value* bias = root.Find("bias");
  if (bias != nullptr && !bias->is_null() && *bias != json::Value("none")) {
    return absl::InvalidArgumentError(
        "bias is not \"none\"; other adapters are not supported");
  }
  const json::Value* rank = root.Find("r");
  const int64_t r = rank == nullptr ? 0 : IntegerOf(*rank).value_or(0);
  if (r < 1 || r > AdaptedWeights::kMaxRank) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "r is not an integer of 1 to %d", AdaptedWeights::kMaxRank));
  }
  const json::Value* alpha = root.Find("lora_alpha");
  const std::optional<double> number =
      alpha == nullptr ? std::nullopt : DoubleOf(*alpha);
  if (!number.has_value() || !std::isfinite(static_cast<float>(*number))) {
    return absl::InvalidArgumentError("lora_alpha is not a finite number");
  }
  ASSIGN_OR_RETURN(std::string base_model,
                   ReadName(root, "base_model_name_or_path"));
  ASSIGN_OR_RETURN(std::string base_revision, ReadName(root, "revision"));
  return AdapterConfig{static_cast<int>(r), *number, std::move(base_model),
                       std::move(base_revision)};
}

bool ConsumePrefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool ConsumeSuffix(std::string_view& text, std::string_view suffix) {
  if (text.size() < suffix.size() ||
      text.substr(text.size() - suffix.size()) != suffix) {
    return false;
  }
  text.remove_suffix(suffix.size());
  return true;
}

// "layers.N.<target>" for a tensor's name without its suffix; nullopt if it
// belongs to anything else. The part before the layers depends on the class
// that the adapter was trained on.
std::optional<std::string_view> ModuleOf(std::string_view name) {
  if (!ConsumePrefix(name, kRoot)) return std::nullopt;
  if (ConsumePrefix(name, "model.")) ConsumePrefix(name, "language_model.");
  std::string_view rest = name;
  if (!ConsumePrefix(rest, "layers.")) return std::nullopt;
  const size_t digits =
      std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits == 0) return std::nullopt;
  rest.remove_prefix(digits);
  if (!ConsumePrefix(rest, ".")) return std::nullopt;
  if (std::find(std::begin(kTargets), std::end(kTargets), rest) ==
      std::end(kTargets)) {
    return std::nullopt;
  }
  return name;
}

// out[i] += sum over k of factors[k] * rows[k][i], with rows of out.size()
// values. Four rows at a time, to touch `sum` less often.
void AddRows(absl::Span<const float> factors, absl::Span<const float> rows,
             absl::Span<float> sum, absl::Span<float> out) {
  const size_t width = out.size();
  float* const s = sum.data();
  std::fill(sum.begin(), sum.end(), 0.0F);
  size_t k = 0;
  for (; k + 4 <= factors.size(); k += 4) {
    const float* const a = rows.data() + k * width;
    const float* const b = a + width;
    const float* const c = b + width;
    const float* const d = c + width;
    for (size_t i = 0; i < width; ++i) {
      s[i] += (factors[k] * a[i] + factors[k + 1] * b[i]) +
              (factors[k + 2] * c[i] + factors[k + 3] * d[i]);
    }
  }
  for (; k < factors.size(); ++k) {
    const float* const a = rows.data() + k * width;
    for (size_t i = 0; i < width; ++i) s[i] += factors[k] * a[i];
  }
  for (size_t i = 0; i < width; ++i) out[i] += s[i];
}

}  // namespace

absl::StatusOr<std::unique_ptr<AdaptedWeights>> AdaptedWeights::Load(
    std::unique_ptr<WeightSource> base, const std::string& folder) {
  const std::string config_path = folder + "/adapter_config.json";
  ASSIGN_OR_RETURN(const json::Value root, ReadJsonFile(config_path));
  absl::StatusOr<AdapterConfig> config = ParseAdapterConfig(root);
  if (!config.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: %s", config_path, config.status().message()));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFile> file,
                   SafetensorsFile::Open(folder + "/adapter_model.safetensors",
                                         kMaxHeaderBytes));
  ASSIGN_OR_RETURN(const std::string prefix, ResolvePrefix(*base));
  std::unique_ptr<AdaptedWeights> weights(
      new AdaptedWeights(std::move(base), std::move(file), config->rank,
                         static_cast<float>(config->alpha / config->rank)));
  weights->base_model_ = std::move(config->base_model);
  weights->base_revision_ = std::move(config->base_revision);
  const std::string& path = weights->file_->path();
  for (const auto& [name, tensor] : weights->file_->tensors()) {
    const absl::Status status = weights->AddTensor(name, prefix);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: tensor %s %s", path, Quoted(name), status.message()));
    }
  }
  if (weights->modules_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: has no tensors", path));
  }
  for (auto& [weight, module] : weights->modules_) {
    const absl::Status status = weights->CheckModule(weight, module);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: %s", path, status.message()));
    }
  }
  return weights;
}

// The error continues a sentence that begins with the tensor's name.
absl::Status AdaptedWeights::AddTensor(const std::string& name,
                                       const std::string& prefix) {
  std::string_view stem = name;
  const bool is_a = ConsumeSuffix(stem, kSuffixA);
  if (!is_a && !ConsumeSuffix(stem, kSuffixB)) {
    return absl::InvalidArgumentError("is neither a lora_A nor a lora_B");
  }
  const std::optional<std::string_view> target = ModuleOf(stem);
  if (!target.has_value()) {
    return absl::InvalidArgumentError(
        "does not belong to a projection of the text model's layers");
  }
  const std::string weight = absl::StrFormat("%s%s.weight", prefix, *target);
  if (base_->Find(weight) == nullptr) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "is for %s, which the base model does not have", weight));
  }
  Module& module = modules_[weight];
  std::string& place = is_a ? module.a : module.b;
  if (!place.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("is for %s, and so is %s", weight, Quoted(place)));
  }
  place = name;
  return absl::OkStatus();
}

absl::Status AdaptedWeights::CheckModule(const std::string& weight,
                                         Module& module) const {
  if (module.a.empty() || module.b.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("tensor %s has no lora_%s beside it",
                        Quoted(module.a.empty() ? module.b : module.a),
                        module.a.empty() ? "A" : "B"));
  }
  const std::vector<int64_t>& shape = base_->Find(weight)->shape;
  if (shape.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s of the base model has shape %s, which is no matrix",
                        weight, ShapeText(shape)));
  }
  const std::pair<const std::string&, std::vector<int64_t>> expected[] = {
      {module.a, {rank_, shape[1]}}, {module.b, {shape[0], rank_}}};
  for (const auto& [name, expected_shape] : expected) {
    const std::vector<int64_t>& found = file_->tensors().at(name).shape;
    if (found != expected_shape) {
      return absl::InvalidArgumentError(
          absl::StrFormat("tensor %s has shape %s, expected %s", Quoted(name),
                          ShapeText(found), ShapeText(expected_shape)));
    }
    RETURN_IF_ERROR(CheckFinite(name));
  }
  module.info = {DType::kF32, shape};
  return absl::OkStatus();
}

absl::Status AdaptedWeights::CheckFinite(const std::string& name) const {
  const SafetensorsFile::Tensor& tensor = file_->tensors().at(name);
  std::vector<float> row(static_cast<size_t>(tensor.shape[1]));
  for (int64_t i = 0; i < tensor.shape[0]; ++i) {
    RETURN_IF_ERROR(file_->ReadRows(name, i, 1, absl::MakeSpan(row)));
    for (const float value : row) {
      if (!std::isfinite(value)) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "tensor %s has a value that is not finite", Quoted(name)));
      }
    }
  }
  file_->Release(tensor.bytes);
  return absl::OkStatus();
}

const TensorInfo* AdaptedWeights::Find(std::string_view name) const {
  const auto it = modules_.find(name);
  return it == modules_.end() ? base_->Find(name) : &it->second.info;
}

absl::Status AdaptedWeights::ReadRows(std::string_view name, int64_t first_row,
                                      int64_t row_count,
                                      absl::Span<float> out) {
  RETURN_IF_ERROR(base_->ReadRows(name, first_row, row_count, out));
  const auto it = modules_.find(name);
  if (it == modules_.end() || out.empty()) return absl::OkStatus();
  const Module& module = it->second;
  const size_t rank = static_cast<size_t>(rank_);
  const size_t rows = static_cast<size_t>(row_count);
  const size_t width = out.size() / rows;
  std::vector<float> a(rank * width);
  RETURN_IF_ERROR(file_->ReadRows(module.a, 0, rank_, absl::MakeSpan(a)));
  std::vector<float> b(rows * rank);
  RETURN_IF_ERROR(
      file_->ReadRows(module.b, first_row, row_count, absl::MakeSpan(b)));
  for (float& factor : b) factor *= scale_;
  std::vector<float> sum(width);
  for (size_t i = 0; i < rows; ++i) {
    AddRows(absl::MakeConstSpan(b).subspan(i * rank, rank), a,
            absl::MakeSpan(sum), out.subspan(i * width, width));
  }
  return absl::OkStatus();
}

void AdaptedWeights::Release(std::string_view name) {
  base_->Release(name);
  const auto it = modules_.find(name);
  if (it == modules_.end()) return;
  file_->Release(file_->tensors().at(it->second.a).bytes);
  file_->Release(file_->tensors().at(it->second.b).bytes);
}

}  // namespace omni::qwen3_5
