#include "tests/benchmarks/random_qwen3_5.h"

#include <cmath>
#include <utility>

#include "runtime/base/status_macros.h"
#include "workers/model/float_formats.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni::qwen3_5 {
namespace {

// One step of splitmix64: a number for each index, without a state.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

RandomWeights::RandomWeights(const Config& config) {
  uint64_t seed = 0;
  for (TensorSpec& spec : TextTensors(config)) {
    Tensor tensor;
    tensor.seed = Mix(++seed);
    tensor.scale = 0.3F;
    if (spec.shape.size() == 2 && spec.name != "embed_tokens.weight") {
      tensor.scale = 1.0F / std::sqrt(static_cast<float>(spec.shape[1]));
    }
    tensor.info.dtype = DType::kBF16;
    tensor.info.shape = std::move(spec.shape);
    tensors_["model." + spec.name] = std::move(tensor);
  }
}

const TensorInfo* RandomWeights::Find(std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  return found == tensors_.end() ? nullptr : &found->second.info;
}

absl::Status RandomWeights::ReadRows(std::string_view name, int64_t first_row,
                                     int64_t row_count, absl::Span<float> out) {
  const auto found = tensors_.find(std::string(name));
  if (found == tensors_.end()) {
    return absl::NotFoundError(std::string(name));
  }
  const Tensor& tensor = found->second;
  RETURN_IF_ERROR(
      CheckRows(tensor.info, name, first_row, row_count, out.size()));
  const uint64_t first =
      row_count == 0 ? 0 : first_row * (out.size() / row_count);
  for (size_t i = 0; i < out.size(); ++i) {
    // Uniform with variance 1.
    const auto unit = static_cast<float>(
        static_cast<int64_t>(Mix(tensor.seed + first + i)) * 0x1p-63);
    out[i] = Bf16ToFloat(FloatToBf16(unit * 1.7320508F * tensor.scale));
  }
  return absl::OkStatus();
}

void RandomWeights::Release(std::string_view /*name*/) {}

}  // namespace omni::qwen3_5
