#ifndef OMNI_WORKERS_MODEL_SAFETENSORS_WRITER_H_
#define OMNI_WORKERS_MODEL_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "workers/model/weights.h"

namespace omni {

// Writes a safetensors file piece by piece, so that no tensor needs to be in
// memory as a whole. The same calls give the same bytes.
//
//   ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::Create(path, tensors));
//   for (...) RETURN_IF_ERROR(writer->Append(values));
//   RETURN_IF_ERROR(writer->Finish());
//
// Not thread-safe. Errors: UNKNOWN when the system cannot write; messages begin
// with the path. An unfinished file stays behind.
class SafetensorsWriter {
 public:
  struct Tensor {
    std::string name;
    DType dtype = DType::kBF16;
    std::vector<int64_t> shape;
  };

  // Writes the header. Data follow in the order of `tensors`.
  static absl::StatusOr<std::unique_ptr<SafetensorsWriter>> Create(
      const std::string& path, std::vector<Tensor> tensors);

  // Closes the file.
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // The next values of the present tensor, rounded to its dtype; the tensor
  // after it begins when all of its values are there.
  //
  // Errors: OUT_OF_RANGE if the tensor has fewer values left.
  absl::Status Append(absl::Span<const float> values);

  // Flushes and closes. Errors: FAILED_PRECONDITION if values are missing.
  absl::Status Finish();

 private:
  SafetensorsWriter(std::string path, std::FILE* file,
                    std::vector<Tensor> tensors);

  void SkipFullTensors();
  absl::Status Write(std::string_view bytes);

  const std::string path_;
  std::FILE* file_;  // Null when finished.
  const std::vector<Tensor> tensors_;
  size_t current_ = 0;  // The tensor to be appended to.
  int64_t left_ = 0;    // Values that it lacks.
};

}  // namespace omni

#endif  // OMNI_WORKERS_MODEL_SAFETENSORS_WRITER_H_
