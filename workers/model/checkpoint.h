#ifndef OMNI_WORKERS_MODEL_CHECKPOINT_H_
#define OMNI_WORKERS_MODEL_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "workers/model/safetensors.h"
#include "workers/model/weights.h"

namespace omni {

// The weights of a checkpoint folder, mapped into memory: the shards that
// `model.safetensors.index.json` names, else `model.safetensors`.
//
// Open reads only headers. A tensor that two shards have, or that the index
// looks for where it is not, is an error; one that the index does not mention
// is there all the same. Tensors whose dtype no model reads are errors only
// when they are read. Release gives the tensor's pages back to the system.
//
// Not thread-safe, as every WeightSource.
class Checkpoint : public WeightSource {
 public:
  // Errors: NOT_FOUND for a missing file, INVALID_ARGUMENT for a bad one.
  // Messages begin with the file's path.
  static absl::StatusOr<std::unique_ptr<Checkpoint>> Open(
      const std::string& folder);

  const TensorInfo* Find(std::string_view name) const override;
  absl::Status ReadRows(std::string_view name, int64_t first_row,
                        int64_t row_count, absl::Span<float> out) override;
  void Release(std::string_view name) override;

 private:
  using Files = std::vector<std::unique_ptr<SafetensorsFile>>;
  struct Entry {
    TensorInfo info;
    const SafetensorsFile* file;
    std::string_view bytes;
  };

  explicit Checkpoint(Files files) : files_(std::move(files)) {}

  absl::Status AddFile(const SafetensorsFile& file);

  const Files files_;
  std::map<std::string_view, Entry> entries_;  // Names are the files'.
};

}  // namespace omni

#endif  // OMNI_WORKERS_MODEL_CHECKPOINT_H_
