#include "workers/model/qwen3_5/formula_weights.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni::qwen3_5 {
namespace {

using ::testing::ElementsAre;

struct Sum {
  int64_t count = 0;
  double total = 0;
};

Sum SumOfFormula(const Config& config) {
  Sum sum;
  int number = 0;
  for (const TensorSpec& tensor : TextTensors(config)) {
    int64_t size = 1;
    for (const int64_t extent : tensor.shape) size *= extent;
    for (int64_t i = 0; i < size; ++i) sum.total += FormulaValue(number, i);
    sum.count += size;
    ++number;
  }
  return sum;
}

TEST(FormulaWeightsTest, SumOfTheSmallModelIsAsSpecified) {
  const Sum sum = SumOfFormula(SmallFormulaConfig());
  EXPECT_EQ(sum.count, 1592);
  EXPECT_NEAR(sum.total, 0.88020601433, 1e-10);
}

TEST(FormulaWeightsTest, SumOfTheRatioModelIsAsSpecified) {
  const Sum sum = SumOfFormula(RatioFormulaConfig());
  EXPECT_EQ(sum.count, 6294);
  EXPECT_NEAR(sum.total, 0.08422093076, 1e-10);
}

TEST(FormulaWeightsTest, HoldsEveryTensorInItsOrder) {
  FormulaModel model = MakeFormulaModel(RatioFormulaConfig(), "model.");
  const std::vector<TensorSpec> tensors = TextTensors(model.config);
  ASSERT_EQ(tensors.size(), 41);
  EXPECT_EQ(model.weights.Names().size(), tensors.size());
  EXPECT_EQ(tensors[15].name, "layers.1.self_attn.q_proj.weight");
  EXPECT_THAT(tensors[15].shape, ElementsAre(128, 12));
  for (size_t n = 0; n < tensors.size(); ++n) {
    ASSERT_OK_AND_ASSIGN(const std::vector<float> values,
                         ReadTensor(model.weights, "model." + tensors[n].name,
                                    tensors[n].shape));
    EXPECT_EQ(values[2],
              static_cast<float>(FormulaValue(static_cast<int>(n), 2)));
  }
}

}  // namespace
}  // namespace omni::qwen3_5
