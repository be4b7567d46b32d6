#include "workers/model/weights.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status_macros.h"

namespace omni {

int64_t DTypeSize(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
      return 2;
  }
  return 0;
}

std::string_view DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kBF16:
      return "BF16";
    case DType::kF16:
      return "F16";
  }
  return "";
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrFormat("[%s]", absl::StrJoin(shape, ", "));
}

absl::Status CheckTensor(const WeightSource& source, std::string_view name,
                         absl::Span<const int64_t> shape) {
  const TensorInfo* info = source.Find(name);
  if (info == nullptr) {
    return absl::NotFoundError(
        absl::StrFormat("tensor %s is missing; its shape should be %s", name,
                        ShapeText(shape)));
  }
  if (!std::equal(info->shape.begin(), info->shape.end(), shape.begin(),
                  shape.end())) {
    return absl::InvalidArgumentError(
        absl::StrFormat("tensor %s has shape %s, expected %s", name,
                        ShapeText(info->shape), ShapeText(shape)));
  }
  return absl::OkStatus();
}

absl::Status CheckRows(const TensorInfo& info, std::string_view name,
                       int64_t first_row, int64_t row_count, size_t out_size) {
  if (info.shape.empty()) {
    return absl::OutOfRangeError(
        absl::StrFormat("tensor %s is a single number and has no rows", name));
  }
  const int64_t rows = info.shape[0];
  if (first_row < 0 || row_count < 0 || first_row > rows ||
      row_count > rows - first_row) {
    return absl::OutOfRangeError(absl::StrFormat(
        "tensor %s of shape %s does not have %d rows from row %d on", name,
        ShapeText(info.shape), row_count, first_row));
  }
  int64_t wanted = row_count;
  for (size_t i = 1; i < info.shape.size(); ++i) wanted *= info.shape[i];
  if (out_size != static_cast<size_t>(wanted)) {
    return absl::OutOfRangeError(absl::StrFormat(
        "%d rows of tensor %s of shape %s have %d elements, but room was "
        "given for %d",
        row_count, name, ShapeText(info.shape), wanted, out_size));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> ReadTensor(WeightSource& source,
                                              std::string_view name,
                                              absl::Span<const int64_t> shape) {
  RETURN_IF_ERROR(CheckTensor(source, name, shape));
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  std::vector<float> values(static_cast<size_t>(size));
  RETURN_IF_ERROR(source.ReadRows(name, 0, shape.empty() ? 1 : shape[0],
                                  absl::MakeSpan(values)));
  return values;
}

}  // namespace omni
