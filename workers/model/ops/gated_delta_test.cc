#include "workers/model/ops/gated_delta.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "workers/model/ops/every_target.h"

namespace omni::ops {
namespace {

using Numbers = std::vector<double>;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Silu(double x) { return x * Sigmoid(x); }

struct Model {
  GatedDeltaShape shape;
  std::vector<float> taps, decay_rate, dt_bias, norm;
  float eps = 1e-2F;

  GatedDeltaWeights weights() const {
    return {taps.data(), decay_rate.data(), dt_bias.data(), norm.data(), eps};
  }
};

// The recurrence, token by token in double: [tokens, value_dim].
Numbers Reference(const Model& model, const std::vector<float>& projected,
                  int64_t tokens) {
  const GatedDeltaShape& s = model.shape;
  const int64_t columns = s.projected_columns();
  const int64_t conv = s.conv_dim();
  const int64_t dk = s.key_head_dim;
  const int64_t dv = s.value_head_dim;
  Numbers c(tokens * conv);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t i = 0; i < conv; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < 4; ++j) {
        if (t - 3 + j < 0) continue;
        sum += double{model.taps[j * conv + i]} *
               projected[(t - 3 + j) * columns + i];
      }
      c[t * conv + i] = Silu(sum);
    }
  }
  Numbers out(tokens * s.value_dim());
  for (int64_t head = 0; head < s.value_heads; ++head) {
    const int64_t key_head = head / (s.value_heads / s.key_heads);
    Numbers state(dk * dv);
    for (int64_t t = 0; t < tokens; ++t) {
      const float* const row = projected.data() + t * columns;
      const double* const q = c.data() + t * conv + key_head * dk;
      const double* const k = q + s.key_dim();
      const double* const v = c.data() + t * conv + 2 * s.key_dim() + head * dv;
      const float* const z = row + conv + head * dv;
      const double b = row[conv + s.value_dim() + head];
      const double a = row[conv + s.value_dim() + s.value_heads + head];
      double q_norm = 1e-6;
      double k_norm = 1e-6;
      for (int64_t i = 0; i < dk; ++i) {
        q_norm += q[i] * q[i];
        k_norm += k[i] * k[i];
      }
      q_norm = std::sqrt(q_norm * static_cast<double>(dk));
      k_norm = std::sqrt(k_norm);
      const double x = a + model.dt_bias[head];
      const double decay = std::exp(model.decay_rate[head] *
                                    (x > 20 ? x : std::log1p(std::exp(x))));
      Numbers o(dv);
      double squares = 0;
      for (int64_t n = 0; n < dv; ++n) {
        double read = 0;
        for (int64_t i = 0; i < dk; ++i) {
          state[i * dv + n] *= decay;
          read += state[i * dv + n] * k[i] / k_norm;
        }
        const double d = Sigmoid(b) * (v[n] - read);
        for (int64_t i = 0; i < dk; ++i) {
          state[i * dv + n] += k[i] / k_norm * d;
          o[n] += state[i * dv + n] * q[i] / q_norm;
        }
        squares += o[n] * o[n];
      }
      const double rms =
          std::sqrt(squares / static_cast<double>(dv) + model.eps);
      for (int64_t n = 0; n < dv; ++n) {
        out[t * s.value_dim() + head * dv + n] =
            model.norm[n] * o[n] / rms * Silu(z[n]);
      }
    }
  }
  return out;
}

class GatedDeltaTest : public EveryTargetTest {
 protected:
  Model MakeModel(GatedDeltaShape shape) {
    Model model;
    model.shape = shape;
    model.taps = Random(4 * shape.conv_dim(), 0.5F);
    model.dt_bias = Random(shape.value_heads);
    model.norm = Random(shape.value_head_dim);
    // Heads that forget within a token, within a chunk and over many chunks.
    for (int64_t i = 0; i < shape.value_heads; ++i) {
      model.decay_rate.push_back(i % 3 == 0   ? -0.002F
                                 : i % 3 == 1 ? -0.1F
                                              : -8.0F);
    }
    return model;
  }

  // In blocks of `step` tokens, with the state carried over.
  template <typename Out>
  std::vector<Out> Run(const Model& model, const std::vector<float>& projected,
                       int64_t tokens, int64_t step) {
    const GatedDeltaShape& s = model.shape;
    const int64_t columns = s.projected_columns();
    std::vector<float> padded(3 * columns);
    padded.insert(padded.end(), projected.begin(), projected.end());
    std::vector<Out> out(tokens * s.value_dim());
    // Not zero: what is there at first must not count.
    std::vector<float> state(s.state_size(), NAN);
    std::vector<float> scratch(s.scratch_size(), NAN);
    for (int64_t begin = 0; begin < tokens; begin += step) {
      GatedDeltaBlock block;
      block.projected = padded.data() + (3 + begin) * columns;
      block.stride = columns;
      block.rows = std::min(step, tokens - begin);
      block.first = begin == 0;
      block.last = begin + step >= tokens;
      for (int64_t head = 0; head < s.key_heads; ++head) {
        GatedDelta(s, model.weights(), block, head, state.data(),
                   scratch.data(), out.data() + begin * s.value_dim());
      }
    }
    return out;
  }
};
OMNI_FOR_EVERY_TARGET(GatedDeltaTest);

// FP32 in the chunked form; results are of size 1.
constexpr double kTolerance = 1e-4;

TEST_P(GatedDeltaTest, MatchesTheRecurrence) {
  const GatedDeltaShape shapes[] = {
      {1, 1, 2, 2}, {2, 6, 4, 3}, {1, 2, 128, 128}, {2, 2, 24, 96}};
  for (const GatedDeltaShape& shape : shapes) {
    const Model model = MakeModel(shape);
    for (const int64_t tokens : {1, 3, 5, 63, 64, 65, 200}) {
      SCOPED_TRACE(::testing::Message()
                   << tokens << " tokens, " << shape.value_heads << " heads of "
                   << shape.key_head_dim << " x " << shape.value_head_dim);
      const std::vector<float> projected =
          Random(tokens * shape.projected_columns());
      const Numbers exact = Reference(model, projected, tokens);
      const auto out = Run<float>(model, projected, tokens, 256);
      for (size_t i = 0; i < exact.size(); ++i) {
        ASSERT_NEAR(out[i], exact[i], kTolerance) << i;
      }
      const auto rounded = Run<uint16_t>(model, projected, tokens, 256);
      for (size_t i = 0; i < exact.size(); ++i) {
        const float value =
            std::bit_cast<float>(static_cast<uint32_t>(rounded[i]) << 16);
        ASSERT_NEAR(value, exact[i], std::abs(exact[i]) * 0x1p-8 + kTolerance);
      }
    }
  }
}

TEST_P(GatedDeltaTest, BlocksOfWholeChunksGiveTheSameBits) {
  const Model model = MakeModel({2, 4, 16, 8});
  const int64_t tokens = 300;
  const std::vector<float> projected =
      Random(tokens * model.shape.projected_columns());
  const auto whole = Run<float>(model, projected, tokens, 512);
  EXPECT_EQ(Run<float>(model, projected, tokens, 64), whole);
  EXPECT_EQ(Run<float>(model, projected, tokens, 128), whole);
}

TEST_P(GatedDeltaTest, KeepsNanOfItsGates) {
  const GatedDeltaShape shape = {1, 2, 8, 8};
  for (const int64_t tokens : {1, 64, 65, 200}) {
    const std::vector<float> projected =
        Random(tokens * shape.projected_columns());
    const int64_t gates = shape.conv_dim() + shape.value_dim();
    const auto expect_nan = [&](const Model& model,
                                const std::vector<float>& rows,
                                const char* what) {
      // In the first head, for the last token.
      const auto out = Run<float>(model, rows, tokens, 64);
      for (int64_t i = 0; i < shape.value_head_dim; ++i) {
        EXPECT_TRUE(std::isnan(out[(tokens - 1) * shape.value_dim() + i]))
            << what << ", " << tokens << " tokens";
      }
    };
    Model model = MakeModel(shape);
    model.decay_rate[0] = NAN;
    expect_nan(model, projected, "decay rate");
    model = MakeModel(shape);
    model.dt_bias[0] = NAN;
    expect_nan(model, projected, "bias");
    model = MakeModel(shape);
    for (const int64_t gate : {gates, gates + shape.value_heads}) {
      std::vector<float> rows = projected;
      rows[gate] = NAN;  // Of the first token.
      expect_nan(model, rows, gate == gates ? "b" : "a");
    }
  }
}

}  // namespace
}  // namespace omni::ops
