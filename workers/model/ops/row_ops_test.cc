#include "workers/model/ops/row_ops.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "workers/model/ops/every_target.h"

namespace omni::ops {
namespace {

// Below, at and above whole vectors of every width.
constexpr int kCounts[] = {1, 3, 8, 15, 16, 17, 64, 127, 128, 1000};

// A result that is a product of a few factors and one reduction or
// exponential: each step is off by an ulp or two of its own result, and a sum
// of n squares by far less than n/8 ulps where vectors split it.
constexpr double kRelative = 1e-6;

float Widened(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

double Silu(double x) { return x / (1 + std::exp(-x)); }

double InverseRms(const std::vector<float>& x, double eps) {
  double sum = 0;
  for (const float value : x) sum += double{value} * value;
  return 1 / std::sqrt(sum / static_cast<double>(x.size()) + eps);
}

// `narrow` is `wide` rounded to BF16: at most half a unit of its eight bits,
// plus what `wide` itself may be off.
void ExpectRounded(const std::vector<uint16_t>& narrow,
                   const std::vector<double>& exact) {
  ASSERT_EQ(narrow.size(), exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(Widened(narrow[i]), exact[i],
                std::abs(exact[i]) * (0x1p-8 + kRelative))
        << i;
  }
}

void ExpectClose(const std::vector<float>& result,
                 const std::vector<double>& exact) {
  ASSERT_EQ(result.size(), exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(result[i], exact[i], std::abs(exact[i]) * kRelative) << i;
  }
}

class RowOpsTest : public EveryTargetTest {};
OMNI_FOR_EVERY_TARGET(RowOpsTest);

TEST_P(RowOpsTest, RoundToBf16RoundsToNearestEven) {
  const std::vector<float> x = {
      1.0F,
      1.00390625F,                        // Halfway, to even below.
      1.01171875F,                        // Halfway, to even above.
      std::nextafter(1.00390625F, 2.0F),  // Just above halfway.
      -2.0F,
      0.0F,
      -0.0F,
      std::numeric_limits<float>::max(),  // Rounds to infinity.
      -std::numeric_limits<float>::infinity(),
      std::numeric_limits<float>::denorm_min(),
      1e-40F,
      3.14159265F,
  };
  const std::vector<uint16_t> expected = {0x3f80, 0x3f80, 0x3f82, 0x3f81,
                                          0xc000, 0x0000, 0x8000, 0x7f80,
                                          0xff80, 0x0000, 0x0001, 0x4049};
  for (int repeat = 1; repeat <= 5; ++repeat) {
    std::vector<float> many;
    std::vector<uint16_t> wanted;
    for (int i = 0; i < repeat; ++i) {
      many.insert(many.end(), x.begin(), x.end());
      wanted.insert(wanted.end(), expected.begin(), expected.end());
    }
    std::vector<uint16_t> out(many.size());
    RoundToBf16(many.data(), static_cast<int64_t>(many.size()), out.data());
    EXPECT_EQ(out, wanted);
  }
}

TEST_P(RowOpsTest, RoundToBf16KeepsNan) {
  // Its payload is in the half that is cut off, or would carry into the sign.
  const std::vector<float> x({std::bit_cast<float>(0x7f800001U),
                              std::bit_cast<float>(0x7fffffffU),
                              std::bit_cast<float>(0xffffffffU)});
  std::vector<uint16_t> out(x.size());
  RoundToBf16(x.data(), static_cast<int64_t>(x.size()), out.data());
  for (const uint16_t bits : out) EXPECT_TRUE(std::isnan(Widened(bits)));
}

TEST_P(RowOpsTest, RmsNormHasTheValuesOfTheSpecification) {
  const std::vector<float> x = {1, -2, .5F, 3};
  const std::vector<float> scale = {1.1F, .8F, 1, 1.5F};
  std::vector<float> out(4);
  RmsNorm(x.data(), scale.data(), 1e-6F, 4, out.data());
  ExpectClose(out, {0.5827941553, -0.8477005895, 0.2649064342, 2.3841579081});
}

TEST_P(RowOpsTest, RmsNormMatchesDouble) {
  for (const int count : kCounts) {
    SCOPED_TRACE(count);
    const std::vector<float> x = Random(count);
    const std::vector<float> scale = Random(count);
    constexpr float kEps = 0.25F;  // Large, so that it counts.
    const double inverse = InverseRms(x, kEps);
    std::vector<double> exact(count);
    for (int i = 0; i < count; ++i) exact[i] = x[i] * inverse * scale[i];

    std::vector<float> out(count);
    RmsNorm(x.data(), scale.data(), kEps, count, out.data());
    ExpectClose(out, exact);
    std::vector<uint16_t> narrow(count);
    RmsNorm(x.data(), scale.data(), kEps, count, narrow.data());
    ExpectRounded(narrow, exact);
  }
}

TEST_P(RowOpsTest, GatedRmsNormHasTheValuesOfTheSpecification) {
  const std::vector<float> x = {1, -2, .5F, 3};
  const std::vector<float> scale = {.9F, 1.1F, 1, .5F};
  const std::vector<float> z = {.5F, -1, 2, 0};
  std::vector<float> out(4);
  GatedRmsNorm(x.data(), z.data(), scale.data(), 1e-6F, 4, out.data());
  ExpectClose(out, {0.1484041337, 0.3134749770, 0.4666576264, 0});
}

TEST_P(RowOpsTest, GatedRmsNormMatchesDouble) {
  for (const int count : kCounts) {
    SCOPED_TRACE(count);
    const std::vector<float> x = Random(count);
    const std::vector<float> scale = Random(count);
    const std::vector<float> z = Random(count, 4.0F);
    constexpr float kEps = 0.25F;
    const double inverse = InverseRms(x, kEps);
    std::vector<double> exact(count);
    for (int i = 0; i < count; ++i) {
      exact[i] = x[i] * inverse * scale[i] * Silu(z[i]);
    }

    std::vector<float> out(count);
    GatedRmsNorm(x.data(), z.data(), scale.data(), kEps, count, out.data());
    ExpectClose(out, exact);
    std::vector<uint16_t> narrow(count);
    GatedRmsNorm(x.data(), z.data(), scale.data(), kEps, count, narrow.data());
    ExpectRounded(narrow, exact);
  }
}

TEST_P(RowOpsTest, SiluMulMatchesDouble) {
  for (const int count : kCounts) {
    SCOPED_TRACE(count);
    const std::vector<float> gate = Random(count, 8.0F);
    const std::vector<float> up = Random(count);
    std::vector<double> exact(count);
    for (int i = 0; i < count; ++i) exact[i] = Silu(gate[i]) * up[i];

    std::vector<float> out(count);
    SiluMul(gate.data(), up.data(), count, out.data());
    ExpectClose(out, exact);
    std::vector<uint16_t> narrow(count);
    SiluMul(gate.data(), up.data(), count, narrow.data());
    ExpectRounded(narrow, exact);
  }
}

TEST_P(RowOpsTest, SiluMulIsFiniteForLargeGates) {
  const std::vector<float> gate(
      {-1e30F, -1000.0F, -90.0F, 90.0F, 1000.0F, 1e30F});
  const std::vector<float> up(gate.size(), 1.0F);
  std::vector<float> out(gate.size());
  SiluMul(gate.data(), up.data(), static_cast<int64_t>(gate.size()),
          out.data());
  for (size_t i = 0; i < gate.size(); ++i) {
    EXPECT_NEAR(out[i], gate[i] > 0 ? gate[i] : 0, 1e-30) << gate[i];
  }
}

TEST_P(RowOpsTest, SigmoidGateMatchesDouble) {
  for (const int count : kCounts) {
    SCOPED_TRACE(count);
    const std::vector<float> x = Random(count);
    const std::vector<float> gate = Random(count, 8.0F);
    std::vector<double> exact(count);
    for (int i = 0; i < count; ++i) {
      exact[i] = x[i] * 0.125 / (1 + std::exp(-double{gate[i]}));
    }

    std::vector<float> out(count);
    SigmoidGate(x.data(), 0.125F, gate.data(), count, out.data());
    ExpectClose(out, exact);
    std::vector<uint16_t> narrow(count);
    SigmoidGate(x.data(), 0.125F, gate.data(), count, narrow.data());
    ExpectRounded(narrow, exact);
  }
}

TEST_P(RowOpsTest, NormRotateHasTheRotationOfTheSpecification) {
  // With eps = 0 and a scale that undoes the norm, what is left is the
  // rotation. x = 1..8, two pairs, position 3, theta 10,000.
  std::vector<float> x(8);
  for (int i = 0; i < 8; ++i) x[i] = static_cast<float>(i + 1);
  const std::vector<float> scale(8, static_cast<float>(1 / InverseRms(x, 0)));
  const std::vector<float> cos = {std::cos(3.0F), std::cos(0.03F)};
  const std::vector<float> sin = {std::sin(3.0F), std::sin(0.03F)};
  std::vector<float> out(8);
  NormRotate(x.data(), scale.data(), 0, 8, cos.data(), sin.data(), 2, 1.0F,
             out.data());
  ExpectClose(out, {-1.4133525208, 1.8791180667, -2.8288574817, 4.0581911354, 5,
                    6, 7, 8});
}

TEST_P(RowOpsTest, NormRotateMatchesDouble) {
  struct Case {
    int count;
    int half;
  };
  for (const Case& c :
       {Case{256, 32}, Case{8, 2}, Case{8, 4}, Case{96, 24}, Case{130, 19}}) {
    SCOPED_TRACE(::testing::Message() << c.count << ", " << c.half);
    const std::vector<float> x = Random(c.count);
    const std::vector<float> scale = Random(c.count);
    std::vector<float> cos(c.half);
    std::vector<float> sin(c.half);
    for (int i = 0; i < c.half; ++i) {
      cos[i] = std::cos(static_cast<float>(i) + 0.5F);
      sin[i] = std::sin(static_cast<float>(i) + 0.5F);
    }
    constexpr double kFactor = 0.0625;
    const double inverse = InverseRms(x, 0.25) * kFactor;
    std::vector<double> exact(c.count);
    for (int i = 0; i < c.count; ++i) exact[i] = x[i] * inverse * scale[i];
    for (int i = 0; i < c.half; ++i) {
      const double a = exact[i];
      const double b = exact[i + c.half];
      exact[i] = a * cos[i] - b * sin[i];
      exact[i + c.half] = b * cos[i] + a * sin[i];
    }

    std::vector<float> out(c.count);
    NormRotate(x.data(), scale.data(), 0.25F, c.count, cos.data(), sin.data(),
               c.half, static_cast<float>(kFactor), out.data());
    for (int i = 0; i < c.count; ++i) {
      // The two products of a rotation may cancel; each is at most this big.
      const double size = 4 * kFactor * 4 * 4;
      EXPECT_NEAR(out[i], exact[i], size * kRelative) << i;
    }
  }
}

TEST_P(RowOpsTest, ConvSiluHasTheValuesOfTheSpecification) {
  const std::vector<float> x = {0, 0, 0, 1, 2, -1, .5F, 3};
  const std::vector<float> taps = {.1F, .2F, -.3F, .5F};
  std::vector<float> out(5);
  ConvSilu(5, 1, x.data() + 3, 1, taps.data(), 1, out.data(), 1);
  ExpectClose(out, {0.3112296656, 0.4677314405, -0.2601454476, 0.7778136441,
                    1.0720749981});
}

TEST_P(RowOpsTest, ConvSiluMatchesDouble) {
  for (const int channels : kCounts) {
    SCOPED_TRACE(channels);
    const int rows = 9;
    const int stride = channels + 5;
    const int taps_stride = channels + 2;
    const int out_stride = channels + 1;
    const std::vector<float> x = Random((rows + 3) * stride);
    const std::vector<float> taps = Random(4 * taps_stride);
    std::vector<float> out(rows * out_stride, -7.0F);
    ConvSilu(rows, channels, x.data() + 3 * stride, stride, taps.data(),
             taps_stride, out.data(), out_stride);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < channels; ++c) {
        double sum = 0;
        double size = 0;
        for (int j = 0; j < 4; ++j) {
          const double term =
              double{taps[j * taps_stride + c]} * x[(r + j) * stride + c];
          sum += term;
          size += std::abs(term);
        }
        // The sum may cancel; SiLU changes by at most 1.1 times as much.
        EXPECT_NEAR(out[r * out_stride + c], Silu(sum), size * kRelative);
      }
      EXPECT_EQ(out[r * out_stride + channels], -7.0F);
    }
  }
}

TEST_P(RowOpsTest, L2NormalizeMatchesDouble) {
  for (const int count : kCounts) {
    SCOPED_TRACE(count);
    const int stride = count + 1;
    // Small, so that the constant under the root counts.
    std::vector<float> x = Random(3 * stride, 1e-3F);
    const std::vector<float> before = x;
    L2Normalize(3, count, 0.5F, x.data(), stride);
    for (int r = 0; r < 3; ++r) {
      double sum = 1e-6;
      for (int i = 0; i < count; ++i) {
        sum += double{before[r * stride + i]} * before[r * stride + i];
      }
      for (int i = 0; i < count; ++i) {
        const double exact = 0.5 * before[r * stride + i] / std::sqrt(sum);
        EXPECT_NEAR(x[r * stride + i], exact, std::abs(exact) * kRelative);
      }
      EXPECT_EQ(x[r * stride + count], before[r * stride + count]);
    }
  }
}

// Replaces each element of each input by NaN in turn; the result of the same
// place must be NaN.
class NanTest : public RowOpsTest {
 protected:
  static constexpr int kCount = 19;

  // kernel(inputs) returns the kCount results.
  template <typename Kernel>
  void ExpectNanIsKept(int inputs, const Kernel& kernel) {
    for (int input = 0; input < inputs; ++input) {
      for (int at = 0; at < kCount; ++at) {
        SCOPED_TRACE(::testing::Message() << "input " << input << ", " << at);
        std::vector<std::vector<float>> x;
        for (int i = 0; i < inputs; ++i) x.push_back(Random(kCount));
        x[input][at] = NAN;
        const auto out = kernel(x);
        EXPECT_TRUE(std::isnan(Wide(out[at])));
      }
    }
  }

  // The same for both types of results.
  template <typename Kernel>
  void ExpectNanIsKeptInBoth(int inputs, const Kernel& kernel) {
    ExpectNanIsKept(inputs, [&](const auto& x) {
      std::vector<float> out(kCount);
      kernel(x, out.data());
      return out;
    });
    ExpectNanIsKept(inputs, [&](const auto& x) {
      std::vector<uint16_t> out(kCount);
      kernel(x, out.data());
      return out;
    });
  }

 private:
  static float Wide(float value) { return value; }
  static float Wide(uint16_t bits) { return Widened(bits); }
};
OMNI_FOR_EVERY_TARGET(NanTest);

TEST_P(NanTest, RmsNormKeepsNan) {
  ExpectNanIsKeptInBoth(2, [](const auto& x, auto* out) {
    RmsNorm(x[0].data(), x[1].data(), 1e-6F, kCount, out);
  });
}

TEST_P(NanTest, GatedRmsNormKeepsNan) {
  ExpectNanIsKeptInBoth(3, [](const auto& x, auto* out) {
    GatedRmsNorm(x[0].data(), x[1].data(), x[2].data(), 1e-6F, kCount, out);
  });
}

TEST_P(NanTest, SiluMulKeepsNan) {
  ExpectNanIsKeptInBoth(2, [](const auto& x, auto* out) {
    SiluMul(x[0].data(), x[1].data(), kCount, out);
  });
}

TEST_P(NanTest, SigmoidGateKeepsNan) {
  ExpectNanIsKeptInBoth(2, [](const auto& x, auto* out) {
    SigmoidGate(x[0].data(), 1.0F, x[1].data(), kCount, out);
  });
}

TEST_P(NanTest, NormRotateKeepsNan) {
  const std::vector<float> cos(4, 0.8F);
  const std::vector<float> sin(4, 0.6F);
  ExpectNanIsKept(2, [&](const auto& x) {
    std::vector<float> out(kCount);
    NormRotate(x[0].data(), x[1].data(), 1e-6F, kCount, cos.data(), sin.data(),
               4, 1.0F, out.data());
    return out;
  });
}

TEST_P(NanTest, ConvSiluKeepsNan) {
  // Inputs 0 to 3 are the rows, 4 to 7 the taps.
  ExpectNanIsKept(8, [](const auto& x) {
    std::vector<float> rows;
    std::vector<float> taps;
    for (int i = 0; i < 4; ++i) {
      rows.insert(rows.end(), x[i].begin(), x[i].end());
      taps.insert(taps.end(), x[4 + i].begin(), x[4 + i].end());
    }
    std::vector<float> out(kCount);
    ConvSilu(1, kCount, rows.data() + 3 * kCount, kCount, taps.data(), kCount,
             out.data(), kCount);
    return out;
  });
}

TEST_P(NanTest, L2NormalizeKeepsNan) {
  ExpectNanIsKept(1, [](const auto& x) {
    std::vector<float> row = x[0];
    L2Normalize(1, kCount, 1.0F, row.data(), kCount);
    return row;
  });
}

}  // namespace
}  // namespace omni::ops
