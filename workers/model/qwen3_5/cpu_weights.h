#ifndef OMNI_WORKERS_MODEL_QWEN3_5_CPU_WEIGHTS_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_CPU_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "workers/model/ops/buffer.h"
#include "workers/model/ops/linear.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/weights.h"

namespace omni::qwen3_5 {

// The embedding in the element type of its file. Rows are widened when they are
// looked up. Thread-compatible.
class EmbeddingTable {
 public:
  // Errors: those of the source; RESOURCE_EXHAUSTED without memory.
  static absl::StatusOr<EmbeddingTable> Load(WeightSource& source,
                                             const std::string& name,
                                             int64_t rows, int64_t columns);

  // Row `id`, which exists, in FP32: `columns` values.
  void Lookup(uint32_t id, float* out) const;

  int64_t bytes() const;

 private:
  DType dtype_ = DType::kF32;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  ops::Buffer<uint16_t> narrow_;  // BF16 and F16.
  ops::Buffer<float> wide_;
};

// A Qwen3.5 text model as the CPU wants it: the matrices whose inputs are the
// same stacked into one product and packed for oneDNN, everything else in FP32
// with constants folded in.
struct CpuWeights {
  struct DeltaNet {
    std::vector<float> taps;        // [4, conv_dim], the current token last.
    std::vector<float> decay_rate;  // [Lv], -exp(A_log).
    std::vector<float> dt_bias;     // [Lv]
    std::vector<float> norm;        // [Dv], plain form.
  };
  struct Attention {
    std::vector<float> query_norm;  // [D], 1 + w.
    std::vector<float> key_norm;    // [D], 1 + w.
  };
  struct Layer {
    std::vector<float> input_norm;           // [H], 1 + w.
    std::vector<float> post_attention_norm;  // [H], 1 + w.
    ops::LinearEngine::Weights mixer_in;     // q|k|v|z|b|a or q and gate|k|v.
    ops::LinearEngine::Weights mixer_out;
    ops::LinearEngine::Weights mlp_in;  // gate|up
    ops::LinearEngine::Weights mlp_out;
    DeltaNet delta_net;   // Of a linear attention layer.
    Attention attention;  // Of a full attention layer.
  };

  EmbeddingTable embedding;
  std::vector<Layer> layers;
  std::vector<float> final_norm;  // [H], 1 + w.

  // What the embedding and all packed matrices take.
  int64_t bytes() const;
};

// Reads the model tensor by tensor, a block of rows at a time, and tells the
// source when it is done with each, so that beside the result only one stacked
// matrix is in memory. `engine` packs the products and decides their operands'
// type.
//
// Errors: NOT_FOUND or INVALID_ARGUMENT for a missing tensor or one of another
// shape; those of the source and of the engine.
absl::StatusOr<CpuWeights> LoadCpuWeights(WeightSource& source,
                                          const Config& config,
                                          ops::Operand operand,
                                          ops::LinearEngine& engine);

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_CPU_WEIGHTS_H_
