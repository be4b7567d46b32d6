#ifndef OMNI_WORKERS_MODEL_OPS_SMALL_MATMUL_H_
#define OMNI_WORKERS_MODEL_OPS_SMALL_MATMUL_H_

// FP32 products of matrices that fit into a core's caches, for the inside of
// attention and of the gated delta rule, where tiles are made and used at once
// on one thread. All matrices are row-major with the distance between rows
// given; any alignment. The number of columns of a result is a multiple of
// kColumnBlock, so callers pad their strides and keep the padding finite.
//
// Thread-safe: no state. The instruction set is chosen when called.

#include <cstdint>

namespace omni::ops {

// Columns are computed in blocks of this many, whatever the vector width.
inline constexpr int64_t kColumnBlock = 64;

// The next multiple of kColumnBlock.
constexpr int64_t PaddedColumns(int64_t columns) {
  return (columns + kColumnBlock - 1) / kColumnBlock * kColumnBlock;
}

// c[m, n] = c_scale * c + a[m, k] * b[k, n]. With c_scale 0, c is not read.
// n is a multiple of kColumnBlock; m and k are any numbers from 0.
void MatMul(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_stride,
            const float* b, int64_t b_stride, float c_scale, float* c,
            int64_t c_stride);

// c[m, n] = c + a[m, m] * b[m, n], where row i of `a` is read in columns 0 to
// the end of i's group of four at most; a[i][j] is 0 for j > i.
void LowerMatMulAdd(int64_t m, int64_t n, const float* a, int64_t a_stride,
                    const float* b, int64_t b_stride, float* c,
                    int64_t c_stride);

// Solves (I - a) x = b by forward substitution, a[m, m] strictly lower (only
// a[i][j] with j < i is read); x[m, n] holds b on entry.
void SolveUnitLower(int64_t m, int64_t n, const float* a, int64_t a_stride,
                    float* x, int64_t x_stride);

// out[c * out_stride + r] = x[r * stride + c], r < rows, c < columns.
void Transpose(int64_t rows, int64_t columns, const float* x, int64_t stride,
               float* out, int64_t out_stride);

}  // namespace omni::ops

#endif  // OMNI_WORKERS_MODEL_OPS_SMALL_MATMUL_H_
