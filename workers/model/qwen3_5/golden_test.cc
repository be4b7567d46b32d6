#include "workers/model/qwen3_5/golden.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni::qwen3_5 {
namespace {

using ::omni::testing::StatusIs;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(GoldenTest, CasesHaveEveryLength) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, GoldenCaseNames());
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(name));
    std::vector<size_t> lengths;
    for (const GoldenRun& run : golden.expected.runs) {
      lengths.push_back(run.prompt.size());
    }
    EXPECT_THAT(lengths, ElementsAre(1, 5, 63, 64, 65, 150, 700));
  }
}

TEST(GoldenTest, CasesHaveEveryRatioOfHeadsAtThePublishedSizes) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, GoldenCaseNames());
  std::set<int> ratios;
  bool adapter = false;
  for (const std::string& name : names) {
    ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(name));
    const Config& c = golden.config;
    adapter |= !golden.adapter.empty();
    if (c.head_dim == 256 && c.linear_key_head_dim == 128 &&
        c.linear_value_head_dim == 128) {
      // With one key head every way to repeat it is the same.
      EXPECT_GT(c.linear_num_key_heads, 1);
      ratios.insert(c.linear_num_value_heads / c.linear_num_key_heads);
    }
  }
  EXPECT_THAT(ratios, ElementsAre(1, 2, 3));
  EXPECT_TRUE(adapter);
}

TEST(GoldenTest, UnknownCaseIsAnError) {
  EXPECT_THAT(LoadGoldenCase("no_such_case"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(LoadGoldenRuns("formula_small", 9),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(LetterProbabilitiesTest, AreTheSoftmaxOfTheLettersAlone) {
  const std::vector<float> embedding = {100, 100, 1, 0, 0, 2, 1, 1};
  const std::vector<float> row = {std::log(2.0F), std::log(3.0F)};
  // Logits of the rows 1, 2 and 3 are the logarithms of 2, 9 and 6.
  EXPECT_THAT(
      LetterProbabilities(embedding, {3, 1, 2}, row),
      ElementsAre(DoubleNear(6.0 / 17, 1e-6), DoubleNear(2.0 / 17, 1e-6),
                  DoubleNear(9.0 / 17, 1e-6)));
}

TEST(DeviationOfTest, MeasuresTheLargestAndTheMeanSquare) {
  const Deviation deviation = DeviationOf({{1, 2}, {3, 4}}, {{1, 2}, {6, 8}});
  EXPECT_EQ(deviation.largest, 4);
  EXPECT_EQ(deviation.rms, 2.5);
}

TEST(DeviationOfTest, NoNumberIsInfinitelyFarAway) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Deviation deviation = DeviationOf({{1, nan, 2}}, {{1, 2, 2}});
  EXPECT_EQ(deviation.largest, std::numeric_limits<double>::infinity());
  EXPECT_EQ(deviation.rms, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace omni::qwen3_5
