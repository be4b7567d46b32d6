#ifndef OMNI_WORKERS_MODEL_WEIGHTS_H_
#define OMNI_WORKERS_MODEL_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace omni {

// Element types of weights; others have no place in a model's needed tensors.
enum class DType { kF32, kBF16, kF16 };

// Bytes of one element.
int64_t DTypeSize(DType dtype);

// "F32", "BF16" or "F16", as files spell it.
std::string_view DTypeName(DType dtype);

struct TensorInfo {
  // In the file. Says nothing where the file has another type: ReadRows of such
  // a tensor fails and names its type.
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // Row-major.
};

// Named tensors that a model loads itself from: a checkpoint, a checkpoint with
// an adapter merged in, or numbers made up by a test. Not thread-safe.
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  // Null if there is no such tensor. Valid as long as the source.
  virtual const TensorInfo* Find(std::string_view name) const = 0;

  // Rows [first_row, first_row + row_count) of dimension 0, widened to FP32
  // (exact for BF16 and F16) with adapters merged in FP32. `out` has exactly
  // row_count * (product of the other dimensions) elements; a tensor of rank 1
  // has rows of one element.
  //
  // Errors: NOT_FOUND for an unknown name, OUT_OF_RANGE for rows,
  // INVALID_ARGUMENT for a tensor whose type is no DType.
  virtual absl::Status ReadRows(std::string_view name, int64_t first_row,
                                int64_t row_count, absl::Span<float> out) = 0;

  // Says that the tensor will not be read again soon, so that its pages need
  // not stay in memory. Reading it later still works.
  virtual void Release(std::string_view name) = 0;
};

// "[2, 3]", for messages.
std::string ShapeText(absl::Span<const int64_t> shape);

// OK if the tensor exists with exactly this shape.
//
// Errors: NOT_FOUND with the name and the expected shape; INVALID_ARGUMENT with
// the name, the shape found and the one expected.
absl::Status CheckTensor(const WeightSource& source, std::string_view name,
                         absl::Span<const int64_t> shape);

// The check of ReadRows' arguments that its implementations share.
//
// Errors: OUT_OF_RANGE for rows outside the tensor, or when `out_size` is not
// the number of elements in row_count rows.
absl::Status CheckRows(const TensorInfo& info, std::string_view name,
                       int64_t first_row, int64_t row_count, size_t out_size);

// The whole tensor in FP32, row-major. Errors as CheckTensor and ReadRows.
absl::StatusOr<std::vector<float>> ReadTensor(WeightSource& source,
                                              std::string_view name,
                                              absl::Span<const int64_t> shape);

}  // namespace omni

#endif  // OMNI_WORKERS_MODEL_WEIGHTS_H_
