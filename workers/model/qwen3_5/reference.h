#ifndef OMNI_WORKERS_MODEL_QWEN3_5_REFERENCE_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_REFERENCE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/qwen3_5/decoder.h"
#include "workers/model/qwen3_5/reference_ops.h"
#include "workers/model/weights.h"

namespace omni::qwen3_5 {

// Qwen3.5 in double precision, token by token and slow: what every fast
// implementation of the seam is held against. Nothing is rounded between the
// weights and the last row, except that rotary angles are FP32 as in training.
//
// Takes eight bytes a parameter and time quadratic in the prompt: for small
// models. Thread-compatible.
class ReferenceDecoder : public Decoder {
 public:
  // Values of the tensor `name` (without the checkpoint's prefix), which must
  // have this shape, row-major.
  using TensorReader = absl::FunctionRef<absl::StatusOr<std::vector<double>>(
      std::string_view name, absl::Span<const int64_t> shape)>;

  // The residual stream of one sequence, [T, hidden_size] each.
  struct Trace {
    struct Layer {
      Matrix after_mixer;  // Attention or DeltaNet added.
      Matrix after_mlp;
    };
    std::vector<Layer> layers;
    Matrix final_norm;
  };

  // Reads the text model's tensors, whatever prefix they have.
  //
  // Errors: NOT_FOUND for a missing tensor, INVALID_ARGUMENT for a wrong shape,
  // each with the tensor's name.
  static absl::StatusOr<std::unique_ptr<ReferenceDecoder>> Load(
      WeightSource& weights, const Config& config);

  // The same from weights in double precision, for test vectors that have more
  // digits than FP32. Errors: those of `read`.
  static absl::StatusOr<std::unique_ptr<ReferenceDecoder>> LoadFrom(
      const Config& config, TensorReader read);

  ~ReferenceDecoder() override;

  const Config& config() const override { return config_; }

  absl::StatusOr<std::vector<std::vector<float>>> Forward(
      const Plan& plan) override;

  // Every intermediate row of one sequence. Errors as Forward.
  absl::StatusOr<Trace> Run(const std::vector<uint32_t>& sequence) const;

 private:
  struct Weights;

  ReferenceDecoder(const Config& config,
                   std::unique_ptr<const Weights> weights);

  const Config config_;
  const std::unique_ptr<const Weights> weights_;
};

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_REFERENCE_H_
