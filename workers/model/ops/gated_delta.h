#ifndef OMNI_WORKERS_MODEL_OPS_GATED_DELTA_H_
#define OMNI_WORKERS_MODEL_OPS_GATED_DELTA_H_

#include <cstdint>

namespace omni::ops {

// Dimensions of a gated DeltaNet mixer.
struct GatedDeltaShape {
  int64_t key_heads = 0;
  int64_t value_heads = 0;  // A multiple of key_heads.
  int64_t key_head_dim = 0;
  int64_t value_head_dim = 0;

  int64_t key_dim() const { return key_heads * key_head_dim; }
  int64_t value_dim() const { return value_heads * value_head_dim; }
  int64_t conv_dim() const { return 2 * key_dim() + value_dim(); }
  // Columns of the stacked projection q | k | v | z | b | a.
  int64_t projected_columns() const {
    return conv_dim() + value_dim() + 2 * value_heads;
  }
  // Rows of the state of one sequence: value head, then key dimension; each
  // has state_columns() floats.
  int64_t state_size() const;
  // Floats of scratch memory that one call needs.
  int64_t scratch_size() const;
};

// What a mixer learned, apart from its two products. FP32; not owned.
struct GatedDeltaWeights {
  const float* taps = nullptr;        // [4, conv_dim], the current token last.
  const float* decay_rate = nullptr;  // [value_heads], -exp(A_log).
  const float* dt_bias = nullptr;     // [value_heads]
  const float* norm = nullptr;        // [value_head_dim], plain form.
  float norm_eps = 0;
};

// A run of consecutive tokens of one sequence.
struct GatedDeltaBlock {
  // [rows, projected_columns()] at distance `stride`. The three rows before it
  // exist and hold the preceding tokens' q | k | v, or zeros at the start.
  const float* projected = nullptr;
  int64_t stride = 0;
  // A multiple of 64 unless `last`.
  int64_t rows = 0;
  bool first = false;  // The state is zero; what `state` holds is not read.
  bool last = false;   // The state is not needed any more.
};

// Convolution, gated delta rule in chunks of 64 tokens and gated norm of one
// key head and its value heads: the columns of these value heads of
// out[rows, value_dim], as FP32 or rounded to BF16. `state` is that of the
// whole sequence, of which only the parts of these value heads are touched, so
// that key heads may run at the same time, each with its own `scratch` of
// scratch_size() floats.
//
// The chunked form solves for the tokens' corrections of the state inside a
// chunk at once: with G the running sum of the log decays inside the chunk, S
// the state before it and A[i][j] = beta_i (k_i . k_j) exp(G_i - G_j), j < i,
//   (I + A) d = beta (v - exp(G) k S)
//   o = exp(G) q S + P d,  P[i][j] = (q_i . k_j) exp(G_i - G_j), j <= i
//   S = exp(G_last) S + sum_i exp(G_last - G_i) k_i d_i^T
// which equals the recurrence token by token.
void GatedDelta(const GatedDeltaShape& shape, const GatedDeltaWeights& weights,
                const GatedDeltaBlock& block, int64_t key_head, float* state,
                float* scratch, float* out);
void GatedDelta(const GatedDeltaShape& shape, const GatedDeltaWeights& weights,
                const GatedDeltaBlock& block, int64_t key_head, float* state,
                float* scratch, uint16_t* out);

}  // namespace omni::ops

#endif  // OMNI_WORKERS_MODEL_OPS_GATED_DELTA_H_
