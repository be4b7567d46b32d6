#include "workers/model/testing/fake_weights.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/status_macros.h"
#include "workers/model/float_formats.h"

namespace omni::testing {

void FakeWeights::Add(std::string name, std::vector<int64_t> shape,
                      std::vector<float> values, DType dtype) {
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  CHECK(static_cast<size_t>(size) == values.size()) << name;
  for (float& value : values) {
    switch (dtype) {
      case DType::kF32:
        break;
      case DType::kBF16:
        value = Bf16ToFloat(FloatToBf16(value));
        break;
      case DType::kF16:
        value = F16ToFloat(FloatToF16(value));
        break;
    }
  }
  tensors_.insert_or_assign(
      std::move(name), Tensor{{dtype, std::move(shape)}, std::move(values)});
}

void FakeWeights::Remove(std::string_view name) {
  const auto it = tensors_.find(name);
  if (it != tensors_.end()) tensors_.erase(it);
}

std::vector<std::string> FakeWeights::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

const TensorInfo* FakeWeights::Find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second.info;
}

absl::Status FakeWeights::ReadRows(std::string_view name, int64_t first_row,
                                   int64_t row_count, absl::Span<float> out) {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) {
    return absl::NotFoundError(absl::StrFormat("no tensor %s", name));
  }
  const Tensor& tensor = it->second;
  RETURN_IF_ERROR(
      CheckRows(tensor.info, name, first_row, row_count, out.size()));
  const int64_t rows = tensor.info.shape[0];
  const int64_t row_size =
      rows == 0 ? 0 : static_cast<int64_t>(tensor.values.size()) / rows;
  std::copy_n(tensor.values.begin() + first_row * row_size, out.size(),
              out.begin());
  return absl::OkStatus();
}

void FakeWeights::Release(std::string_view name) {
  released_.emplace_back(name);
}

}  // namespace omni::testing
