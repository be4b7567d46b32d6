#include "tools/checkpoint/random_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/json_file.h"
#include "tools/checkpoint/demo_tokenizer.h"
#include "tools/checkpoint/shapes.h"
#include "workers/model/qwen3_5/tensors.h"
#include "workers/model/safetensors_writer.h"

namespace omni {
namespace {

using ::omni::qwen3_5::TensorSpec;

constexpr std::string_view kPrefix = "model.language_model.";
constexpr int64_t kBlock = 1 << 16;

// SplitMix64: one addition and a mix of bits for each number, the same on every
// machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }

  // Uniform in [low, high); exact operations only, so that no library decides
  // about the last bit.
  float Uniform(double low, double high) {
    const double unit = static_cast<double>(Next() >> 40) * 0x1p-24;
    return static_cast<float>(low + (high - low) * unit);
  }

 private:
  uint64_t state_;
};

struct Range {
  double low;
  double high;
};

Range Around(double middle, double deviation) {
  const double half = std::sqrt(3.0) * deviation;
  return {middle - half, middle + half};
}

// The range of one tensor's values. Inputs of projections are normalised, so a
// deviation of 1 / sqrt(inputs) gives outputs of about 1.
Range RangeOf(const TensorSpec& tensor) {
  const auto is = [&tensor](std::string_view suffix) {
    return absl::EndsWith(tensor.name,
                          absl::string_view(suffix.data(), suffix.size()));
  };
  const double inputs = static_cast<double>(tensor.shape.back());
  if (is("embed_tokens.weight")) return Around(0, 1.0 / std::sqrt(inputs));
  // Decays from nearly none to a few tokens.
  if (is("A_log")) return {-3, 0};
  if (is("dt_bias")) return {-2, 1};
  if (is("conv1d.weight")) return Around(0, 0.5);
  if (is("linear_attn.norm.weight")) return {0.8, 1.2};
  // Attention that clearly prefers some tokens to others.
  if (is("q_norm.weight") || is("k_norm.weight")) return {0.5, 1.5};
  if (is("norm.weight")) return {-0.2, 0.2};
  // What these read is small: averages over tokens that a gate halves, and
  // products of two numbers around zero.
  if (is("o_proj.weight")) return Around(0, 6.0 / std::sqrt(inputs));
  if (is("out_proj.weight") || is("down_proj.weight")) {
    return Around(0, 3.0 / std::sqrt(inputs));
  }
  return Around(0, 1.0 / std::sqrt(inputs));
}

absl::Status WriteWeights(const std::vector<TensorSpec>& tensors, uint64_t seed,
                          const std::string& path) {
  std::vector<SafetensorsWriter::Tensor> header;
  for (const TensorSpec& tensor : tensors) {
    header.push_back({absl::StrFormat("%s%s", kPrefix, tensor.name),
                      DType::kBF16, tensor.shape});
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsWriter> writer,
                   SafetensorsWriter::Create(path, std::move(header)));
  // Each tensor draws from a sequence of its own.
  Random seeds(seed);
  std::vector<float> block;
  for (const TensorSpec& tensor : tensors) {
    Random random(seeds.Next());
    const Range range = RangeOf(tensor);
    int64_t left = 1;
    for (const int64_t extent : tensor.shape) left *= extent;
    while (left > 0) {
      block.resize(static_cast<size_t>(std::min(left, kBlock)));
      for (float& value : block) value = random.Uniform(range.low, range.high);
      RETURN_IF_ERROR(writer->Append(block));
      left -= static_cast<int64_t>(block.size());
    }
  }
  return writer->Finish();
}

std::string MarkerJson(const std::string& shape, uint64_t seed) {
  return absl::StrFormat(
      "{\n"
      "  \"format\": \"cua-s1-text-merged/1\",\n"
      "  \"request_model\": \"cua-s1-demo-untrained\",\n"
      "  \"response_model\": \"omni-%s/cua-s1-untrained@seed-%d:text\",\n"
      "  \"notice\": \"Random weights: this model is untrained and its answers "
      "mean nothing.\"\n"
      "}\n",
      shape, seed);
}

}  // namespace

absl::Status WriteRandomCheckpoint(const std::string& shape, uint64_t seed,
                                   const std::string& folder) {
  ASSIGN_OR_RETURN(const qwen3_5::Config config, FindShape(shape));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::UnknownError(
        absl::StrFormat("%s: %s", folder, error.message()));
  }
  RETURN_IF_ERROR(WriteFile(folder + "/config.json", ConfigJson(config)));
  RETURN_IF_ERROR(WriteFile(folder + "/tokenizer.json", DemoTokenizerJson()));
  RETURN_IF_ERROR(
      WriteFile(folder + "/cua_s1_export.json", MarkerJson(shape, seed)));
  return WriteWeights(qwen3_5::TextTensors(config), seed,
                      folder + "/model.safetensors");
}

}  // namespace omni
