#include "workers/model/ops/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/ops/every_target.h"
#include "workers/model/ops/tile_kernels.h"

namespace omni::ops {
namespace {

using Numbers = std::vector<double>;

constexpr double kTheta = 1e4;
constexpr float kEps = 1e-2F;

struct Model {
  AttentionShape shape;
  int64_t rotary_dim = 0;
  std::vector<float> query_norm, key_norm;

  AttentionWeights weights() const {
    return {query_norm.data(), key_norm.data(), kEps};
  }
};

Numbers NormedAndRotated(const Model& model, const float* x,
                         const std::vector<float>& scale, int64_t position) {
  const int64_t dim = model.shape.head_dim;
  double squares = 0;
  for (int64_t i = 0; i < dim; ++i) squares += double{x[i]} * x[i];
  const double rms =
      std::sqrt(squares / static_cast<double>(dim) + double{kEps});
  Numbers y(dim);
  for (int64_t i = 0; i < dim; ++i) y[i] = x[i] / rms * scale[i];
  const int64_t half = model.rotary_dim / 2;
  for (int64_t i = 0; i < half; ++i) {
    const double angle =
        static_cast<double>(position) /
        std::pow(kTheta, static_cast<double>(2 * i) /
                             static_cast<double>(model.rotary_dim));
    const double a = y[i];
    const double b = y[i + half];
    y[i] = a * std::cos(angle) - b * std::sin(angle);
    y[i + half] = b * std::cos(angle) + a * std::sin(angle);
  }
  return y;
}

// All scores of a query at once, in double: [tokens, out_columns].
Numbers Reference(const Model& model, const std::vector<float>& projected,
                  int64_t tokens) {
  const AttentionShape& s = model.shape;
  const int64_t dim = s.head_dim;
  const int64_t columns = s.projected_columns();
  Numbers out(tokens * s.out_columns());
  for (int64_t head = 0; head < s.heads; ++head) {
    const int64_t kv_head = head / (s.heads / s.kv_heads);
    const int64_t key_column = 2 * s.heads * dim + kv_head * dim;
    const int64_t value_column = key_column + s.kv_heads * dim;
    std::vector<Numbers> keys;
    for (int64_t t = 0; t < tokens; ++t) {
      const float* const row = projected.data() + t * columns;
      keys.push_back(
          NormedAndRotated(model, row + key_column, model.key_norm, t));
      const Numbers query =
          NormedAndRotated(model, row + head * 2 * dim, model.query_norm, t);
      Numbers scores;
      for (int64_t j = 0; j <= t; ++j) {
        double dot = 0;
        for (int64_t i = 0; i < dim; ++i) dot += query[i] * keys[j][i];
        scores.push_back(dot / std::sqrt(static_cast<double>(dim)));
      }
      const double top = *std::max_element(scores.begin(), scores.end());
      double total = 0;
      Numbers mean(dim);
      for (int64_t j = 0; j <= t; ++j) {
        const double weight = std::exp(scores[j] - top);
        total += weight;
        for (int64_t i = 0; i < dim; ++i) {
          mean[i] += weight * projected[j * columns + value_column + i];
        }
      }
      for (int64_t i = 0; i < dim; ++i) {
        const double gate = row[head * 2 * dim + dim + i];
        out[t * s.out_columns() + head * dim + i] =
            mean[i] / total / (1 + std::exp(-gate));
      }
    }
  }
  return out;
}

class AttentionTest : public EveryTargetTest {
 protected:
  Model MakeModel(AttentionShape shape, int64_t rotary_dim) {
    Model model;
    model.shape = shape;
    model.rotary_dim = rotary_dim;
    model.query_norm = Random(shape.head_dim, 2.0F);
    model.key_norm = Random(shape.head_dim, 2.0F);
    return model;
  }

  template <typename Out>
  std::vector<Out> Run(const Model& model, const std::vector<float>& projected,
                       int64_t tokens) {
    const AttentionShape& s = model.shape;
    RotaryTable rotary(kTheta, model.rotary_dim);
    EXPECT_OK(rotary.Grow(tokens));
    std::vector<float> cache(s.cache_size(tokens), NAN);
    std::vector<float> scratch(s.scratch_size(), NAN);
    std::vector<Out> out(tokens * s.out_columns());
    for (int64_t begin = 0; begin < tokens; begin += kTile) {
      TokenTile tile;
      tile.projected = projected.data() + begin * s.projected_columns();
      tile.stride = s.projected_columns();
      tile.rows = std::min(kTile, tokens - begin);
      tile.position = begin;
      for (int64_t head = 0; head < s.kv_heads; ++head) {
        StoreKeysValues(s, model.weights(), rotary, tile, head, tokens,
                        cache.data());
      }
      for (int64_t head = 0; head < s.heads; ++head) {
        AttendTile(s, model.weights(), rotary, tile, head, tokens, cache.data(),
                   scratch.data(), out.data() + begin * s.out_columns());
      }
    }
    return out;
  }
};
OMNI_FOR_EVERY_TARGET(AttentionTest);

TEST_P(AttentionTest, MatchesDouble) {
  struct Case {
    AttentionShape shape;
    int64_t rotary_dim;
  };
  const Case cases[] = {{{2, 1, 8}, 4}, {{8, 2, 8}, 8}, {{2, 2, 256}, 64}};
  // Scores are sums of head_dim products of numbers up to ten or so, and
  // angles are FP32; weights are off by as much, relatively.
  constexpr double kTolerance = 1e-4;
  for (const Case& c : cases) {
    const Model model = MakeModel(c.shape, c.rotary_dim);
    for (const int64_t tokens : {1, 2, 63, 64, 65, 150}) {
      SCOPED_TRACE(::testing::Message()
                   << tokens << " tokens, heads of " << c.shape.head_dim);
      const std::vector<float> projected =
          Random(tokens * c.shape.projected_columns());
      const Numbers exact = Reference(model, projected, tokens);
      const auto out = Run<float>(model, projected, tokens);
      for (size_t i = 0; i < exact.size(); ++i) {
        ASSERT_NEAR(out[i], exact[i], kTolerance) << i;
      }
      const auto rounded = Run<uint16_t>(model, projected, tokens);
      for (size_t i = 0; i < exact.size(); ++i) {
        const float value =
            std::bit_cast<float>(static_cast<uint32_t>(rounded[i]) << 16);
        ASSERT_NEAR(value, exact[i], std::abs(exact[i]) * 0x1p-8 + kTolerance);
      }
    }
  }
}

TEST_P(AttentionTest, KeepsNan) {
  const AttentionShape shape = {1, 1, 8};
  for (const int64_t tokens : {1, 5, 65, 150}) {
    SCOPED_TRACE(tokens);
    const std::vector<float> projected =
        Random(tokens * shape.projected_columns());
    const auto expect_nan = [&](const Model& model,
                                const std::vector<float>& rows, int64_t begin,
                                int64_t end) {
      const auto out = Run<float>(model, rows, tokens);
      for (int64_t i = begin; i < end; ++i) {
        EXPECT_TRUE(std::isnan(out[(tokens - 1) * shape.out_columns() + i]));
      }
    };
    Model model = MakeModel(shape, 4);
    model.query_norm[7] = NAN;
    expect_nan(model, projected, 0, 8);
    model = MakeModel(shape, 4);
    model.key_norm[0] = NAN;
    expect_nan(model, projected, 0, 8);
    model = MakeModel(shape, 4);
    std::vector<float> rows = projected;
    rows[2 * 8 + 3] = NAN;  // The first token's key.
    expect_nan(model, rows, 0, 8);
    rows = projected;
    rows[3 * 8 + 3] = NAN;  // Its value.
    expect_nan(model, rows, 3, 4);
    rows = projected;
    rows[(tokens - 1) * shape.projected_columns() + 8 + 5] = NAN;
    expect_nan(model, rows, 5, 6);  // The last token's gate.
  }
}

}  // namespace
}  // namespace omni::ops
