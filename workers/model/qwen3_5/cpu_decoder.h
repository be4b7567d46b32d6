#ifndef OMNI_WORKERS_MODEL_QWEN3_5_CPU_DECODER_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_CPU_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workers/model/ops/linear.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/qwen3_5/decoder.h"
#include "workers/model/weights.h"

namespace omni::qwen3_5 {

// What the operands of matrix products are.
enum class CpuPrecision {
  kAuto,  // BF16 where the processor has AVX512-BF16 instructions, else FP32.
  kF32,
  kBF16,
};

struct CpuDecoderOptions {
  CpuPrecision precision = CpuPrecision::kAuto;
  // Threads of every product and loop, at most 1,024; 0 means as many as there
  // are processors. They are started by the first Load or Forward of a thread
  // that calls it. If the system refuses one, the OpenMP runtime ends the
  // process: it has no way to report it. So ask for no more than the limits on
  // the process's threads and memory allow.
  int threads = 0;
};

// Qwen3.5 on the CPU: products on oneDNN, everything between them in vector
// kernels. With BF16 only the operands of products are rounded; their results,
// the residual stream, norms, the DeltaNet and the softmax stay in FP32.
//
// A sequence goes through each layer in blocks of 256 tokens. What carries from
// block to block is the DeltaNet's state and the layer's keys and values, so
// beside the weights memory grows with the longest prompt only by its residual
// stream, the keys and values of one layer and the rotary table (4 * rotary_dim
// bytes a token); it is kept for later prompts. Each of the three grows by half
// of itself at least, so that it may be up to 1.5 times what the longest prompt
// needs (see ops::Buffer).
// The sequences of a plan run one after another: each gives what it would give
// alone.
//
// Results depend on the processor's instruction set; with AVX-512 they do not
// depend on the number of threads.
//
// Errors of Forward beside those of CheckPlan: RESOURCE_EXHAUSTED without
// memory for a long prompt; INTERNAL if oneDNN fails.
class CpuDecoder : public Decoder {
 public:
  // INVALID_ARGUMENT for options out of range; FAILED_PRECONDITION if kBF16 is
  // asked for and the processor has no such products. Messages begin with the
  // name of the option.
  static absl::Status CheckOptions(const CpuDecoderOptions& options);

  // Errors: those of CheckOptions and LoadCpuWeights.
  static absl::StatusOr<std::unique_ptr<CpuDecoder>> Load(
      WeightSource& source, const Config& config,
      const CpuDecoderOptions& options);

  // What was chosen for the operands of products.
  virtual ops::Operand operand() const = 0;

  virtual int threads() const = 0;

  // Bytes of the embedding and the packed matrices.
  virtual int64_t weight_bytes() const = 0;
};

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_CPU_DECODER_H_
