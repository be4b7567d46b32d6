#ifndef OMNI_WORKERS_MODEL_OPS_ROTARY_H_
#define OMNI_WORKERS_MODEL_OPS_ROTARY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "workers/model/ops/buffer.h"

namespace omni::ops {

// Cosines and sines of rotary position embedding, computed once for each
// position and kept: 4 * rotary_dim bytes a position. The angle of pair i at
// position t is t / theta^(2 i / rotary_dim), all in FP32 as in training; its
// cosine and sine are rounded once. Not thread-safe, except that rows may be
// read by many threads while none grows it.
class RotaryTable {
 public:
  RotaryTable(double theta, int64_t rotary_dim)
      : theta_(static_cast<float>(theta)), half_(rotary_dim / 2) {}

  // Makes the rows of positions below `positions` readable.
  //
  // Errors: RESOURCE_EXHAUSTED if there is not enough memory.
  absl::Status Grow(int64_t positions);

  // rotary_dim / 2 values each; the position is below a number that Grow got.
  const float* cos(int64_t position) const {
    return values_.data() + position * 2 * half_;
  }
  const float* sin(int64_t position) const { return cos(position) + half_; }

  int64_t half() const { return half_; }

 private:
  float theta_;
  int64_t half_;
  int64_t positions_ = 0;
  Buffer<float> values_;
};

}  // namespace omni::ops

#endif  // OMNI_WORKERS_MODEL_OPS_ROTARY_H_
