#ifndef OMNI_WORKERS_MODEL_SAFETENSORS_H_
#define OMNI_WORKERS_MODEL_SAFETENSORS_H_

// The safetensors container: 8 bytes with the length N of the header (little
// endian), N bytes of JSON (name -> dtype, shape, data_offsets), then the
// tensors' bytes, row-major and little-endian.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "workers/model/weights.h"

namespace omni {

// A safetensors file mapped into memory for reading.
//
// Open checks the whole header, so that every tensor's bytes lie in the file,
// in nobody else's bytes, and are as many as shape and dtype say. Bytes that
// belong to no tensor are allowed. Pages are read when they are touched. The
// file must not be made shorter while it is mapped: touching what is gone ends
// the process.
//
// Thread-compatible.
class SafetensorsFile {
 public:
  struct Tensor {
    std::string dtype_name;      // As in the file, such as "BF16".
    std::optional<DType> dtype;  // Unset for a type that no model reads.
    std::vector<int64_t> shape;
    std::string_view bytes;  // Valid as long as the file object.
  };
  using Tensors = std::map<std::string, Tensor, std::less<>>;

  // Enough for any base model; a larger header is taken for damage.
  //
  // A header of n bytes takes about 9 n of memory while Open parses it, and up
  // to about 40 n if it was made to be costly (arrays of millions of short
  // elements). At this limit that is 1.2 GB, and up to 4.5 GB; published
  // headers are far below it. Whoever reads files of strangers passes a smaller
  // limit. Afterwards only tensors() remains.
  static constexpr int64_t kMaxHeaderBytes = int64_t{128} << 20;

  // Errors: NOT_FOUND, UNKNOWN if the system refuses to open or map the file,
  // INVALID_ARGUMENT for what is no such file. Messages begin with the path and
  // name the tensor, what was found and what was expected.
  static absl::StatusOr<std::unique_ptr<SafetensorsFile>> Open(
      const std::string& path, int64_t max_header_bytes = kMaxHeaderBytes);

  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;
  ~SafetensorsFile();

  const std::string& path() const { return path_; }
  const Tensors& tensors() const { return tensors_; }

  // Widens rows to FP32; contract and errors of WeightSource::ReadRows, and
  // INVALID_ARGUMENT for a dtype that is not BF16, F16 or F32.
  absl::Status ReadRows(std::string_view name, int64_t first_row,
                        int64_t row_count, absl::Span<float> out) const;

  // Lets the system take back the pages of these bytes; they are read from the
  // file again when touched.
  void Release(std::string_view bytes) const;

 private:
  SafetensorsFile(std::string path, std::string_view mapping)
      : path_(std::move(path)), mapping_(mapping) {}

  absl::Status ParseHeader(int64_t max_header_bytes);

  const std::string path_;
  const std::string_view mapping_;  // Owned; the whole file.
  Tensors tensors_;
};

}  // namespace omni

#endif  // OMNI_WORKERS_MODEL_SAFETENSORS_H_
