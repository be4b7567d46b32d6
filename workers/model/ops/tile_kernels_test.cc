#include "workers/model/ops/tile_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "workers/model/ops/every_target.h"

namespace omni::ops {
namespace {

// A few factors, one of them an exponential whose argument is a difference of
// FP32 numbers up to 100 in size.
constexpr double kRelative = 1e-6;

class TileKernelsTest : public EveryTargetTest {};
OMNI_FOR_EVERY_TARGET(TileKernelsTest);

TEST_P(TileKernelsTest, DecayedScoresMatchDouble) {
  for (const int64_t rows : {1, 4, 30, 64}) {
    SCOPED_TRACE(rows);
    const std::vector<float> kk = Random(kTile * kTile);
    const std::vector<float> qk = Random(kTile * kTile);
    const std::vector<float> beta = Random(kTile);
    // Falls so far that exp(G_i - G_j) overflows above the diagonal.
    std::vector<float> decay_sum(kTile);
    for (int64_t i = 0; i < kTile; ++i) {
      decay_sum[i] = static_cast<float>(i) * -2.5F;
    }
    std::vector<float> a(rows * kTile, NAN);
    std::vector<float> p(rows * kTile, NAN);
    DecayedScores(rows, kk.data(), qk.data(), decay_sum.data(), beta.data(),
                  a.data(), p.data());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < kTile; ++j) {
        const double weight =
            j > i ? 0 : std::exp(double{decay_sum[i]} - decay_sum[j]);
        const double exact_a =
            j < i ? -double{beta[i]} * kk[i * kTile + j] * weight : 0;
        const double exact_p = qk[i * kTile + j] * weight;
        EXPECT_NEAR(a[i * kTile + j], exact_a,
                    std::abs(exact_a) * kRelative + 1e-37);
        EXPECT_NEAR(p[i * kTile + j], exact_p,
                    std::abs(exact_p) * kRelative + 1e-37);
      }
    }
  }
}

TEST_P(TileKernelsTest, DeltaResidualMatchesDouble) {
  const int64_t rows = 3;
  for (const int64_t columns : {5, 64, 130}) {
    SCOPED_TRACE(columns);
    const std::vector<float> before = Random(rows * columns);
    const std::vector<float> r = Random(rows * columns);
    const std::vector<float> beta = Random(rows);
    const std::vector<float> decay = Random(rows);
    std::vector<float> v = before;
    std::vector<float> without = before;
    DeltaResidual(rows, columns, beta.data(), decay.data(), r.data(), v.data());
    DeltaResidual(rows, columns, beta.data(), decay.data(), nullptr,
                  without.data());
    for (int64_t i = 0; i < rows * columns; ++i) {
      const double scale = beta[i / columns];
      const double read = double{decay[i / columns]} * r[i];
      const double size =
          std::abs(scale) * (std::abs(before[i]) + std::abs(read));
      EXPECT_NEAR(v[i], scale * (before[i] - read), size * kRelative);
      EXPECT_NEAR(without[i], scale * before[i], size * kRelative);
    }
  }
}

TEST_P(TileKernelsTest, ScaleRowsMatchesDouble) {
  const int64_t columns = 70;
  const std::vector<float> before = Random(2 * columns);
  const std::vector<float> factors = {0.5F, -3.0F};
  std::vector<float> x = before;
  ScaleRows(2, columns, factors.data(), x.data());
  for (int64_t i = 0; i < 2 * columns; ++i) {
    EXPECT_EQ(x[i], before[i] * factors[i / columns]);
  }
}

TEST_P(TileKernelsTest, SoftmaxOverTilesMatchesDouble) {
  // Two full tiles, then one in which row i sees i + 1 scores; the largest
  // scores come at different times, and what is not valid is no number.
  const int64_t rows = 40;
  const int64_t columns = 64;
  const int64_t tiles = 3;
  std::vector<std::vector<float>> scores;
  for (int64_t t = 0; t < tiles; ++t) {
    scores.push_back(Random(rows * kTile, 20.0F));
  }
  std::vector<float> max(rows, -std::numeric_limits<float>::infinity());
  std::vector<float> sum(rows, 0.0F);
  std::vector<float> acc(rows * columns, 0.0F);
  for (int64_t t = 0; t < tiles; ++t) {
    std::vector<float> tile = scores[t];
    const int64_t first_valid = t + 1 == tiles ? 1 : kTile;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = first_valid + i; j < kTile; ++j) {
        tile[i * kTile + j] = NAN;
      }
    }
    SoftmaxTile(rows, first_valid, tile.data(), max.data(), sum.data(), columns,
                acc.data());
    // The value of token j of tile t is (1000 t + j + c) in column c.
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < kTile; ++j) {
        for (int64_t c = 0; c < columns; ++c) {
          acc[i * columns + c] +=
              tile[i * kTile + j] * static_cast<float>(1000 * t + j + c);
        }
      }
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    double top = -1e30;
    double total = 0;
    double mean = 0;
    const auto for_each = [&](auto use) {
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t valid = t + 1 == tiles ? i + 1 : kTile;
        for (int64_t j = 0; j < valid; ++j) {
          use(scores[t][i * kTile + j], static_cast<double>(1000 * t + j));
        }
      }
    };
    for_each([&](double score, double) { top = std::max(top, score); });
    for_each([&](double score, double value) {
      total += std::exp(score - top);
      mean += std::exp(score - top) * value;
    });
    EXPECT_EQ(max[i], top);
    // Sums of 200 positive terms.
    EXPECT_NEAR(sum[i], total, total * 2e-5);
    for (int64_t c = 0; c < columns; ++c) {
      EXPECT_NEAR(acc[i * columns + c] / sum[i],
                  mean / total + static_cast<double>(c), 3000 * 2e-5);
    }
  }
}

TEST_P(TileKernelsTest, DecayedScoresKeepNan) {
  const int64_t rows = 12;
  for (int64_t bad = 0; bad < rows; ++bad) {
    SCOPED_TRACE(bad);
    const std::vector<float> kk = Random(rows * kTile);
    const std::vector<float> qk = Random(rows * kTile);
    const std::vector<float> beta = Random(rows);
    std::vector<float> decay_sum(kTile, -1.0F);
    decay_sum[bad] = NAN;
    std::vector<float> a(rows * kTile);
    std::vector<float> p(rows * kTile);
    DecayedScores(rows, kk.data(), qk.data(), decay_sum.data(), beta.data(),
                  a.data(), p.data());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < kTile; ++j) {
        const bool touched = i == bad || j == bad;
        EXPECT_EQ(std::isnan(a[i * kTile + j]), touched && j < i);
        EXPECT_EQ(std::isnan(p[i * kTile + j]), touched && j <= i);
      }
    }
  }
}

TEST_P(TileKernelsTest, DeltaResidualAndScaleRowsKeepNan) {
  const int64_t columns = 21;
  const std::vector<float> bad = {NAN};
  const std::vector<float> one = {1.0F};
  const std::vector<float> zeros(columns, 0.0F);
  std::vector<float> v = zeros;
  DeltaResidual(1, columns, bad.data(), one.data(), zeros.data(), v.data());
  for (const float value : v) EXPECT_TRUE(std::isnan(value));
  v = zeros;
  DeltaResidual(1, columns, one.data(), bad.data(), zeros.data(), v.data());
  for (const float value : v) EXPECT_TRUE(std::isnan(value));
  v = zeros;
  ScaleRows(1, columns, bad.data(), v.data());
  for (const float value : v) EXPECT_TRUE(std::isnan(value));
}

TEST_P(TileKernelsTest, SoftmaxOverTilesKeepsNan) {
  // One valid score of the first of two tiles is no number: whatever its place,
  // it reaches the sum of its row and of no other row.
  const int64_t rows = 3;
  const int64_t columns = 16;
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {NAN, inf}) {
    for (const int64_t valid : {int64_t{1}, int64_t{7}, int64_t{40}, kTile}) {
      for (int64_t at = 0; at < valid; ++at) {
        SCOPED_TRACE(::testing::Message()
                     << bad << " at " << at << " of " << valid);
        std::vector<float> tile = Random(rows * kTile);
        tile[kTile + at] = bad;
        std::vector<float> max(rows, -inf);
        std::vector<float> sum(rows, 0.0F);
        std::vector<float> acc(rows * columns, 0.0F);
        // Row 1 has `valid` valid scores, and row 0 one at least.
        SoftmaxTile(rows, std::max<int64_t>(valid - 1, 1), tile.data(),
                    max.data(), sum.data(), columns, acc.data());
        EXPECT_TRUE(std::isnan(sum[1]));
        EXPECT_TRUE(std::isnan(tile[kTile + at]));
        std::vector<float> next = Random(rows * kTile);
        SoftmaxTile(rows, kTile, next.data(), max.data(), sum.data(), columns,
                    acc.data());
        EXPECT_TRUE(std::isnan(sum[1]));
        EXPECT_TRUE(std::isfinite(sum[0]));
        EXPECT_TRUE(std::isfinite(sum[2]));
      }
    }
  }
}

}  // namespace
}  // namespace omni::ops
