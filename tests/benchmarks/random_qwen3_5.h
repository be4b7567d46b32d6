#ifndef OMNI_TESTS_BENCHMARKS_RANDOM_QWEN3_5_H_
#define OMNI_TESTS_BENCHMARKS_RANDOM_QWEN3_5_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/weights.h"

namespace omni::qwen3_5 {

// A model of random BF16 weights that are made up where they are read, so that
// it takes no memory. Matrices are scaled so that a product keeps the size of
// its input; reading a tensor again gives the same numbers. Not thread-safe.
class RandomWeights : public WeightSource {
 public:
  explicit RandomWeights(const Config& config);

  const TensorInfo* Find(std::string_view name) const override;
  absl::Status ReadRows(std::string_view name, int64_t first_row,
                        int64_t row_count, absl::Span<float> out) override;
  void Release(std::string_view name) override;

 private:
  struct Tensor {
    TensorInfo info;
    uint64_t seed = 0;
    float scale = 0;
  };
  absl::flat_hash_map<std::string, Tensor> tensors_;
};

}  // namespace omni::qwen3_5

#endif  // OMNI_TESTS_BENCHMARKS_RANDOM_QWEN3_5_H_
