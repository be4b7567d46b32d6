#ifndef OMNI_WORKERS_MODEL_OPS_TILE_KERNELS_H_
#define OMNI_WORKERS_MODEL_OPS_TILE_KERNELS_H_

// Steps of the chunked gated delta rule (gated_delta.h) and of tiled attention
// (attention.h) on whole tiles. FP32, row-major, any alignment; the instruction
// set is chosen when called. Thread-safe: no state.

#include <cstdint>

namespace omni::ops {

// Rows and columns of a tile of pairwise scores.
inline constexpr int64_t kTile = 64;

// For i < rows (at most kTile), with w[i][j] = exp(decay_sum[i] -
// decay_sum[j]):
//   a[i][j] = -beta[i] * kk[i][j] * w[i][j]  for j < i, else 0
//   p[i][j] = qk[i][j] * w[i][j]             for j <= i, else 0
// All four matrices are [rows, kTile]; decay_sum has kTile elements and does
// not rise, so that no exponential overflows. A NaN, or the difference of two
// infinite elements, makes the results that depend on it NaN.
void DecayedScores(int64_t rows, const float* kk, const float* qk,
                   const float* decay_sum, const float* beta, float* a,
                   float* p);

// v[i][c] = beta[i] * (v[i][c] - decay[i] * r[i][c]), i < rows, c < columns;
// both matrices have `columns` columns. A null r stands for zeros.
void DeltaResidual(int64_t rows, int64_t columns, const float* beta,
                   const float* decay, const float* r, float* v);

// x[i][c] *= factors[i], i < rows, c < columns; x has `columns` columns.
void ScaleRows(int64_t rows, int64_t columns, const float* factors, float* x);

// One step of a softmax over columns that arrive in tiles. For each row i <
// rows, the first min(kTile, first_valid + i) of its scores are valid:
//   max[i] becomes the maximum of itself and the valid scores,
//   scores[i][j] becomes exp(scores[i][j] - max[i]), and 0 where not valid,
//   sum[i] and the row acc[i][0, columns) are multiplied by exp(old - new
//   maximum), then the new scores are added to sum[i].
// scores is [rows, kTile], acc [rows, columns]. Before the first tile max is
// -infinity, sum is 0 and acc is finite. Each row needs a valid score. A valid
// score that is NaN or +infinity makes its row's sum NaN, and so it stays.
void SoftmaxTile(int64_t rows, int64_t first_valid, float* scores, float* max,
                 float* sum, int64_t columns, float* acc);

}  // namespace omni::ops

#endif  // OMNI_WORKERS_MODEL_OPS_TILE_KERNELS_H_
