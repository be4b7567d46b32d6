#include "workers/model/ops/small_matmul.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "workers/model/ops/every_target.h"

namespace omni::ops {
namespace {

// FP32 sums of k products, in whatever order, are off by less than
// (k + 2) * 2^-24 of the sum of the products' sizes.
double Tolerance(int64_t k, double size) {
  return static_cast<double>(k + 2) * 0x1p-24 * size;
}

class SmallMatMulTest : public EveryTargetTest {};
OMNI_FOR_EVERY_TARGET(SmallMatMulTest);

TEST_P(SmallMatMulTest, MatMulMatchesDouble) {
  for (const int64_t m : {1, 2, 3, 4, 5, 64}) {
    for (const int64_t n : {64, 128}) {
      for (const int64_t k : {0, 1, 7, 128}) {
        for (const float c_scale : {0.0F, 1.0F, 0.3F}) {
          SCOPED_TRACE(::testing::Message()
                       << m << "x" << n << "x" << k << " " << c_scale);
          const int64_t a_stride = k + 3;
          const int64_t b_stride = n + 1;
          const int64_t c_stride = n + 2;
          const std::vector<float> a = Random(m * a_stride);
          const std::vector<float> b = Random(k * b_stride);
          const std::vector<float> before = Random(m * c_stride);
          std::vector<float> c = before;
          if (c_scale == 0) {
            // What is not read cannot spread.
            for (int64_t i = 0; i < m; ++i) c[i * c_stride] = NAN;
          }
          MatMul(m, n, k, a.data(), a_stride, b.data(), b_stride, c_scale,
                 c.data(), c_stride);
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              double sum = double{c_scale} * before[i * c_stride + j];
              double size = std::abs(sum);
              for (int64_t l = 0; l < k; ++l) {
                const double term =
                    double{a[i * a_stride + l]} * b[l * b_stride + j];
                sum += term;
                size += std::abs(term);
              }
              ASSERT_NEAR(c[i * c_stride + j], sum, Tolerance(k, size));
            }
            ASSERT_EQ(c[i * c_stride + n], before[i * c_stride + n]);
          }
        }
      }
    }
  }
}

TEST_P(SmallMatMulTest, LowerMatMulAddMatchesDouble) {
  for (const int64_t m : {1, 4, 6, 64}) {
    SCOPED_TRACE(m);
    const int64_t n = 128;
    std::vector<float> a = Random(m * 64);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = i + 1; j < 64; ++j) a[i * 64 + j] = 0;
    }
    const std::vector<float> b = Random(m * n);
    const std::vector<float> before = Random(m * n);
    std::vector<float> c = before;
    LowerMatMulAdd(m, n, a.data(), 64, b.data(), n, c.data(), n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = before[i * n + j];
        double size = std::abs(sum);
        for (int64_t l = 0; l <= i; ++l) {
          const double term = double{a[i * 64 + l]} * b[l * n + j];
          sum += term;
          size += std::abs(term);
        }
        ASSERT_NEAR(c[i * n + j], sum, Tolerance(m, size));
      }
    }
  }
}

TEST_P(SmallMatMulTest, SolveUnitLowerUndoesTheProduct) {
  for (const int64_t m : {1, 2, 4, 7, 64}) {
    SCOPED_TRACE(m);
    const int64_t n = 64;
    // Small, so that the solution does not grow from row to row.
    std::vector<float> a = Random(m * 64, 0.05F);
    const std::vector<float> b = Random(m * n);
    std::vector<float> x = b;
    SolveUnitLower(m, n, a.data(), 64, x.data(), n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        // (I - a) x from what was found.
        double sum = x[i * n + j];
        double size = std::abs(sum);
        for (int64_t l = 0; l < i; ++l) {
          const double term = double{a[i * 64 + l]} * x[l * n + j];
          sum -= term;
          size += std::abs(term);
        }
        ASSERT_NEAR(b[i * n + j], sum, Tolerance(m, size));
      }
    }
  }
}

TEST(TransposeTest, MovesEveryElement) {
  const int64_t rows = 37;
  const int64_t columns = 50;
  std::vector<float> x(rows * 51);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  std::vector<float> out(columns * 64, -1.0F);
  Transpose(rows, columns, x.data(), 51, out.data(), 64);
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < 64; ++r) {
      EXPECT_EQ(out[c * 64 + r], r < rows ? x[r * 51 + c] : -1.0F);
    }
  }
}

}  // namespace
}  // namespace omni::ops
