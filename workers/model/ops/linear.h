#ifndef OMNI_WORKERS_MODEL_OPS_LINEAR_H_
#define OMNI_WORKERS_MODEL_OPS_LINEAR_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace omni::ops {

// What the two operands of a product are stored as; sums and results are FP32.
enum class Operand {
  kF32,   // float
  kBF16,  // uint16_t, the upper half of a float's bits
};

// True if the processor, as far as oneDNN may use it (DNNL_MAX_CPU_ISA in the
// environment), multiplies BF16 in its own instructions. Without them oneDNN
// has no BF16 products or emulates them at a third of FP32's speed.
bool HasFastBf16();

// True if oneDNN may use AVX-512.
bool HasAvx512();

// Linear layers y = x W^T on oneDNN, with weights that are packed once.
//
// A product takes rows in multiples of kRowStep up to kMaxRows; callers split
// longer inputs and fill up the last block with rows of any finite numbers. A
// plan is made for each number of rows and shape at its first use and kept, at
// most kMaxRows / kRowStep for each shape. All plans of a shape share the
// packed weights. With AVX-512 the numbers of a row do not depend on the other
// rows or on how many there are (a test holds oneDNN to it).
//
// Not thread-safe: all calls from one thread, or one after another. Each
// product runs on `threads` threads, of the pool that ParallelFor uses.
//
// Errors: FAILED_PRECONDITION from Create for BF16 without HasFastBf16();
// INTERNAL with oneDNN's words if it refuses a plan or fails;
// RESOURCE_EXHAUSTED without memory for the packed weights.
class LinearEngine {
 public:
  static constexpr int64_t kRowStep = 16;
  static constexpr int64_t kMaxRows = 256;

  // The next multiple of kRowStep.
  static constexpr int64_t PaddedRows(int64_t rows) {
    return (rows + kRowStep - 1) / kRowStep * kRowStep;
  }

  // The weights of one layer. Movable.
  class Weights {
   public:
    Weights();
    Weights(Weights&&) noexcept;
    Weights& operator=(Weights&&) noexcept;
    ~Weights();

    int64_t outputs() const { return outputs_; }
    int64_t inputs() const { return inputs_; }
    int64_t bytes() const;

   private:
    friend class LinearEngine;
    struct Packed;
    int64_t outputs_ = 0;
    int64_t inputs_ = 0;
    std::unique_ptr<Packed> packed_;
  };

  static absl::StatusOr<std::unique_ptr<LinearEngine>> Create(Operand operand,
                                                              int threads);
  LinearEngine(const LinearEngine&) = delete;
  LinearEngine& operator=(const LinearEngine&) = delete;
  ~LinearEngine();

  // Packs the row-major matrix plain[outputs, inputs], whose elements are of
  // the engine's operand type; it may be freed afterwards.
  absl::StatusOr<Weights> Pack(int64_t outputs, int64_t inputs,
                               const void* plain);

  // y[rows, outputs] = x[rows, inputs] W^T, both row-major without gaps; with
  // `add`, y += instead. x has elements of the operand type.
  absl::Status Run(const Weights& weights, int64_t rows, const void* x,
                   bool add, float* y);

 private:
  struct State;

  explicit LinearEngine(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace omni::ops

#endif  // OMNI_WORKERS_MODEL_OPS_LINEAR_H_
