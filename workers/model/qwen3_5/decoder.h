#ifndef OMNI_WORKERS_MODEL_QWEN3_5_DECODER_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workers/model/qwen3_5/config.h"

namespace omni::qwen3_5 {

// What one forward pass computes. Plain data, made by host code that every
// device shares.
struct Plan {
  // Independent token sequences, each from position 0. The last token's
  // final-norm hidden state of each is read out.
  std::vector<std::vector<uint32_t>> sequences;
};

// INVALID_ARGUMENT unless there is at least one sequence, each has 1 to
// max_position_embeddings tokens and every id is below vocab_size. Every
// Decoder checks its plan with this before it does anything.
absl::Status CheckPlan(const Plan& plan, const Config& config);

// The seam to a device: a loaded Qwen3.5 text model. Owns its weights and
// scratch memory. Not thread-safe: one Forward at a time, all of them from one
// thread. The device is quiet when Forward returns.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual const Config& config() const = 0;

  // One row of hidden_size FP32 values for each sequence of the plan.
  virtual absl::StatusOr<std::vector<std::vector<float>>> Forward(
      const Plan& plan) = 0;
};

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_DECODER_H_
