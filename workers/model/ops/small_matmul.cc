#include "workers/model/ops/small_matmul.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "workers/model/ops/small_matmul.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "workers/model/ops/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omni::ops::HWY_NAMESPACE {

// Rows and vectors of one block of results that is kept in registers. With 32
// registers, four vectors of 16 columns cover a column block at once; with 16
// registers two vectors leave room for operands.
constexpr int64_t kRows = 4;
#if HWY_TARGET <= HWY_AVX3
constexpr int64_t kVectors = 4;
#else
constexpr int64_t kVectors = 2;
#endif

// c[R, kVectors * lanes] = c_scale * c + a[R, k] * b[k, ...].
template <int64_t R>
HWY_INLINE void Block(int64_t k, const float* HWY_RESTRICT a, int64_t a_stride,
                      const float* HWY_RESTRICT b, int64_t b_stride,
                      float c_scale, float* c, int64_t c_stride) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<Wide> sum[R][kVectors];
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < k; ++i) {
    hn::Vec<Wide> column[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      column[v] = hn::LoadU(d, b + i * b_stride + v * lanes);
    }
    for (int64_t r = 0; r < R; ++r) {
      const auto factor = hn::Set(d, a[r * a_stride + i]);
      for (int64_t v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::MulAdd(factor, column[v], sum[r][v]);
      }
    }
  }
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t v = 0; v < kVectors; ++v) {
      float* out = c + r * c_stride + v * lanes;
      if (c_scale != 0) {
        sum[r][v] =
            hn::MulAdd(hn::Set(d, c_scale), hn::LoadU(d, out), sum[r][v]);
      }
      hn::StoreU(sum[r][v], d, out);
    }
  }
}

// Block for 1 to kRows rows and any multiple of kColumnBlock columns.
HWY_INLINE void RowGroup(int64_t rows, int64_t n, int64_t k, const float* a,
                         int64_t a_stride, const float* b, int64_t b_stride,
                         float c_scale, float* c, int64_t c_stride) {
  const int64_t step = kVectors * static_cast<int64_t>(hn::Lanes(Wide()));
  for (int64_t j = 0; j < n; j += step) {
    switch (rows) {
      case 1:
        Block<1>(k, a, a_stride, b + j, b_stride, c_scale, c + j, c_stride);
        break;
      case 2:
        Block<2>(k, a, a_stride, b + j, b_stride, c_scale, c + j, c_stride);
        break;
      case 3:
        Block<3>(k, a, a_stride, b + j, b_stride, c_scale, c + j, c_stride);
        break;
      default:
        Block<kRows>(k, a, a_stride, b + j, b_stride, c_scale, c + j, c_stride);
        break;
    }
  }
}

void MatMul(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_stride,
            const float* b, int64_t b_stride, float c_scale, float* c,
            int64_t c_stride) {
  // One column block at a time, so that its part of b stays in the first-level
  // cache while the rows of a pass by.
  for (int64_t j = 0; j < n; j += kColumnBlock) {
    for (int64_t i = 0; i < m; i += kRows) {
      RowGroup(std::min(kRows, m - i), kColumnBlock, k, a + i * a_stride,
               a_stride, b + j, b_stride, c_scale, c + i * c_stride + j,
               c_stride);
    }
  }
}

void LowerMatMulAdd(int64_t m, int64_t n, const float* a, int64_t a_stride,
                    const float* b, int64_t b_stride, float* c,
                    int64_t c_stride) {
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = std::min(kRows, m - i);
    RowGroup(rows, n, i + rows, a + i * a_stride, a_stride, b, b_stride, 1.0F,
             c + i * c_stride, c_stride);
  }
}

void SolveUnitLower(int64_t m, int64_t n, const float* a, int64_t a_stride,
                    float* x, int64_t x_stride) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = std::min(kRows, m - i);
    float* group = x + i * x_stride;
    RowGroup(rows, n, i, a + i * a_stride, a_stride, x, x_stride, 1.0F, group,
             x_stride);
    // What is left is the triangle within the group.
    for (int64_t c = 0; c < n; c += lanes) {
      for (int64_t r = 1; r < rows; ++r) {
        auto sum = hn::LoadU(d, group + r * x_stride + c);
        for (int64_t j = 0; j < r; ++j) {
          sum = hn::MulAdd(hn::Set(d, a[(i + r) * a_stride + i + j]),
                           hn::LoadU(d, group + j * x_stride + c), sum);
        }
        hn::StoreU(sum, d, group + r * x_stride + c);
      }
    }
  }
}

}  // namespace omni::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omni::ops {

HWY_EXPORT(MatMul);
HWY_EXPORT(LowerMatMulAdd);
HWY_EXPORT(SolveUnitLower);

void MatMul(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_stride,
            const float* b, int64_t b_stride, float c_scale, float* c,
            int64_t c_stride) {
  HWY_DYNAMIC_DISPATCH(MatMul)
  (m, n, k, a, a_stride, b, b_stride, c_scale, c, c_stride);
}

void LowerMatMulAdd(int64_t m, int64_t n, const float* a, int64_t a_stride,
                    const float* b, int64_t b_stride, float* c,
                    int64_t c_stride) {
  HWY_DYNAMIC_DISPATCH(LowerMatMulAdd)
  (m, n, a, a_stride, b, b_stride, c, c_stride);
}

void SolveUnitLower(int64_t m, int64_t n, const float* a, int64_t a_stride,
                    float* x, int64_t x_stride) {
  HWY_DYNAMIC_DISPATCH(SolveUnitLower)(m, n, a, a_stride, x, x_stride);
}

void Transpose(int64_t rows, int64_t columns, const float* x, int64_t stride,
               float* out, int64_t out_stride) {
  // Squares whose rows and columns are whole cache lines.
  constexpr int64_t kSquare = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kSquare) {
    const int64_t r_end = std::min(rows, r0 + kSquare);
    for (int64_t c0 = 0; c0 < columns; c0 += kSquare) {
      const int64_t c_end = std::min(columns, c0 + kSquare);
      for (int64_t c = c0; c < c_end; ++c) {
        for (int64_t r = r0; r < r_end; ++r) {
          out[c * out_stride + r] = x[r * stride + c];
        }
      }
    }
  }
}

}  // namespace omni::ops
#endif  // HWY_ONCE
