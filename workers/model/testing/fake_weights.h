#ifndef OMNI_WORKERS_MODEL_TESTING_FAKE_WEIGHTS_H_
#define OMNI_WORKERS_MODEL_TESTING_FAKE_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "workers/model/weights.h"

namespace omni::testing {

// Weights in memory, for tests. Copies are independent.
class FakeWeights : public WeightSource {
 public:
  // Adds a tensor or replaces the one of this name. The values, row-major and
  // as many as the shape says, are rounded to `dtype`.
  void Add(std::string name, std::vector<int64_t> shape,
           std::vector<float> values, DType dtype = DType::kF32);

  // Does nothing if there is no such tensor.
  void Remove(std::string_view name);

  // In the order of the calls, with repetitions.
  const std::vector<std::string>& released() const { return released_; }

  // Names in byte order.
  std::vector<std::string> Names() const;

  const TensorInfo* Find(std::string_view name) const override;
  absl::Status ReadRows(std::string_view name, int64_t first_row,
                        int64_t row_count, absl::Span<float> out) override;
  void Release(std::string_view name) override;

 private:
  struct Tensor {
    TensorInfo info;
    std::vector<float> values;
  };
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::vector<std::string> released_;
};

}  // namespace omni::testing

#endif  // OMNI_WORKERS_MODEL_TESTING_FAKE_WEIGHTS_H_
