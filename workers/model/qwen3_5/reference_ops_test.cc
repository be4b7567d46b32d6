#include "workers/model/qwen3_5/reference_ops.h"

#include <cmath>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace omni::qwen3_5 {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

MATCHER_P(Near, tolerance, "") {
  return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= tolerance;
}

// The printed digits of the vectors.
constexpr double kPrinted = 1e-10;

std::vector<double> ToVector(absl::Span<const double> row) {
  return {row.begin(), row.end()};
}

TEST(InverseFrequenciesTest, AreThoseOfThePublishedModels) {
  const std::vector<float> frequencies = InverseFrequencies(1e7, 64);
  ASSERT_EQ(frequencies.size(), 32);
  EXPECT_EQ(frequencies[0], 1.0F);
  EXPECT_EQ(frequencies[1], 0.6042963862419128F);
  EXPECT_EQ(frequencies[2], 0.36517414450645447F);
  EXPECT_EQ(frequencies[16], 0.0003162277862429619F);
  EXPECT_EQ(frequencies[31], 1.6548170833630138e-07F);
}

// A rotated (1, 0) is the cosine and the sine of the angle.
TEST(RotateHeadTest, UsesTheCosineOfTheFp32Angle) {
  const std::vector<float> frequencies = InverseFrequencies(1e7, 64);
  std::vector<double> head(64);
  head[1] = 1;
  RotateHead(absl::MakeSpan(head), frequencies, 7);
  EXPECT_NEAR(head[1], -0.4638305303530638, 1e-15);
  EXPECT_NEAR(head[33], -0.8859239465735168, 1e-15);

  head.assign(64, 0);
  head[0] = 1;
  RotateHead(absl::MakeSpan(head), frequencies, 1000);
  EXPECT_NEAR(head[0], 0.5623790762907029, 1e-15);
  EXPECT_NEAR(head[32], 0.8268795405320025, 1e-15);
}

TEST(RotateHeadTest, RotatesHalvesOfTheLeadingPartOnly) {
  std::vector<double> head = {1, 2, 3, 4, 5, 6, 7, 8};
  RotateHead(absl::MakeSpan(head), InverseFrequencies(1e4, 4), 3);
  // The second frequency, 0.01, is FP32 here.
  EXPECT_THAT(head,
              Pointwise(Near(1e-8), {-1.4133525208, 1.8791180667, -2.8288574817,
                                     4.0581911354, 5.0, 6.0, 7.0, 8.0}));
}

TEST(ZeroCenteredRmsNormTest, MultipliesWithOnePlusTheWeight) {
  EXPECT_THAT(ZeroCenteredRmsNorm({1, -2, .5, 3}, {.1, -.2, 0, .5}, 1e-6),
              Pointwise(Near(kPrinted), {0.5827941553, -0.8477005895,
                                         0.2649064342, 2.3841579081}));
}

TEST(GatedRmsNormTest, NormalizesBeforeTheGate) {
  EXPECT_THAT(
      GatedRmsNorm({1, -2, .5, 3}, {.9, 1.1, 1, .5}, {.5, -1, 2, 0}, 1e-6),
      Pointwise(Near(kPrinted),
                {0.1484041337, 0.3134749770, 0.4666576264, 0.0}));
}

TEST(ConvolveSiluTest, LastTapIsTheCurrentToken) {
  const Matrix x(1, std::vector<double>{1, 2, -1, .5, 3});
  const Matrix taps(4, std::vector<double>{.1, .2, -.3, .5});
  const Matrix y = ConvolveSilu(x, taps);
  EXPECT_THAT(
      std::vector<double>(
          {y.at(0, 0), y.at(1, 0), y.at(2, 0), y.at(3, 0), y.at(4, 0)}),
      Pointwise(Near(kPrinted), {0.3112296656, 0.4677314405, -0.2601454476,
                                 0.7778136441, 1.0720749981}));
}

TEST(SoftplusTest, IsTheIdentityAboveTwenty) {
  EXPECT_EQ(Softplus(20.5), 20.5);
  EXPECT_EQ(Softplus(1000), 1000);
  EXPECT_DOUBLE_EQ(Softplus(0), std::log(2.0));
  EXPECT_NEAR(Softplus(-40), std::exp(-40), 1e-30);
}

DeltaRuleInput SmallDeltaRule() {
  DeltaRuleInput input;
  input.q = Matrix(2, std::vector<double>{1, 2, .5, -1, -1, .25, 2, 1, .3, .7});
  input.k = Matrix(2, std::vector<double>{2, 1, 1, 1, .5, -.5, -1, 2, .1, .9});
  input.v = Matrix(2, std::vector<double>{1, -1, .5, 2, 3, 0, -2, 1, .25, .75});
  for (const double a : {.1, -.3, 1.5, 25.0, -2.0}) {
    input.log_decay.push_back(LogDecay(a, .5, .2));
  }
  for (const double b : {0.0, 1.0, -1.0, 2.0, .5}) {
    input.beta.push_back(Sigmoid(b));
  }
  return input;
}

void ExpectSmallDeltaRuleResult(const DeltaRuleOutput& output) {
  EXPECT_THAT(ToVector(output.out.row(0)),
              Pointwise(Near(kPrinted), {0.2828426559, -0.2828426559}));
  EXPECT_THAT(ToVector(output.out.row(1)),
              Pointwise(Near(kPrinted), {-0.0549356745, -0.3537382292}));
  EXPECT_THAT(ToVector(output.out.row(2)),
              Pointwise(Near(kPrinted), {-0.4971748256, -0.0226085474}));
  EXPECT_THAT(ToVector(output.out.row(3)),
              Pointwise(Near(kPrinted), {0.0, 0.0}));
  EXPECT_THAT(ToVector(output.out.row(4)),
              Pointwise(Near(kPrinted), {-0.0358235541, 0.3864872321}));
  EXPECT_THAT(ToVector(output.state.row(0)),
              Pointwise(Near(kPrinted), {0.7083723446, -0.2940394669}));
  EXPECT_THAT(ToVector(output.state.row(1)),
              Pointwise(Near(kPrinted), {-0.3587069789, 0.7206738386}));
}

TEST(DeltaRuleTest, DecaysLikeTheVectors) {
  EXPECT_THAT(
      SmallDeltaRule().log_decay,
      Pointwise(Near(kPrinted), {-1.4085936643, -1.0624304802, -3.0794585558,
                                 -41.5477760216, -0.2522174404}));
}

TEST(DeltaRuleTest, GivesTheVectors) {
  ExpectSmallDeltaRuleResult(DeltaRule(SmallDeltaRule()));
}

TEST(ChunkedDeltaRuleTest, GivesTheVectors) {
  for (const int chunk_size : {2, 4, 64}) {
    SCOPED_TRACE(chunk_size);
    ExpectSmallDeltaRuleResult(ChunkedDeltaRule(SmallDeltaRule(), chunk_size));
  }
}

// Decays from almost none to almost everything, lengths on both sides of the
// borders of chunks, keys that repeat so that the corrections matter.
TEST(ChunkedDeltaRuleTest, EqualsTheRecurrence) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (const int tokens : {1, 2, 3, 63, 64, 65, 150}) {
    const int dk = 6;
    const int dv = 5;
    DeltaRuleInput input;
    input.q = Matrix(tokens, dk);
    input.k = Matrix(tokens, dk);
    input.v = Matrix(tokens, dv);
    for (int t = 0; t < tokens; ++t) {
      for (int i = 0; i < dk; ++i) {
        input.q.at(t, i) = normal(random);
        input.k.at(t, i) = t % 3 == 2 ? input.k.at(t - 2, i) : normal(random);
      }
      for (int i = 0; i < dv; ++i) input.v.at(t, i) = normal(random);
      input.log_decay.push_back(
          LogDecay(3 * normal(random) - 3, normal(random), normal(random)));
      input.beta.push_back(Sigmoid(2 * normal(random)));
    }
    const DeltaRuleOutput expected = DeltaRule(input);
    for (const int chunk_size : {2, 4, 64}) {
      SCOPED_TRACE(::testing::Message()
                   << tokens << " tokens, chunks of " << chunk_size);
      const DeltaRuleOutput actual = ChunkedDeltaRule(input, chunk_size);
      for (int t = 0; t < tokens; ++t) {
        ASSERT_THAT(actual.out.row(t),
                    Pointwise(Near(1e-12), expected.out.row(t)));
      }
      for (int d = 0; d < dk; ++d) {
        ASSERT_THAT(actual.state.row(d),
                    Pointwise(Near(1e-12), expected.state.row(d)));
      }
    }
  }
}

TEST(CausalAttentionTest, LooksAtNoLaterToken) {
  const Matrix q(1, std::vector<double>{1, 2, 3});
  const Matrix k(1, std::vector<double>{0, std::log(2.0) / 2, 5});
  const Matrix v(2, std::vector<double>{1, 10, 4, 40, 9, 90});
  const Matrix out = CausalAttention(q, k, v);
  EXPECT_THAT(out.row(0), ElementsAre(1, 10));
  // Weights 1 and exp(2 * log(2) / 2) = 2.
  EXPECT_THAT(out.row(1),
              ElementsAre(DoubleNear(3, 1e-12), DoubleNear(30, 1e-12)));
}

TEST(CausalAttentionTest, ScalesByTheRootOfTheHeadSize) {
  const Matrix q(4, std::vector<double>(8, 1.0));
  Matrix k(2, 4);
  k.at(1, 0) = 2 * std::log(3.0);
  const Matrix v(1, std::vector<double>{0, 1});
  EXPECT_THAT(CausalAttention(q, k, v).row(1),
              ElementsAre(DoubleNear(0.75, 1e-12)));
}

TEST(CausalAttentionTest, SurvivesLargeScores) {
  const Matrix q(1, std::vector<double>{1e6, 1e6});
  const Matrix k(1, std::vector<double>{1, 1});
  const Matrix v(1, std::vector<double>{2, 4});
  EXPECT_THAT(CausalAttention(q, k, v).row(1),
              ElementsAre(DoubleNear(3, 1e-12)));
}

}  // namespace
}  // namespace omni::qwen3_5
