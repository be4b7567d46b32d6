#include "workers/model/weights.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/testing/fake_weights.h"

namespace omni {
namespace {

using ::omni::testing::FakeWeights;
using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::ElementsAre;

TEST(WeightsTest, WrongShapeNamesTensorFoundAndExpected) {
  FakeWeights weights;
  weights.Add("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_OK(CheckTensor(weights, "w", {2, 3}));
  EXPECT_THAT(CheckTensor(weights, "w", {3, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "tensor w has shape [2, 3], expected [3, 2]"));
  EXPECT_THAT(ReadTensor(weights, "v", {3}),
              StatusIs(absl::StatusCode::kNotFound,
                       "tensor v is missing; its shape should be [3]"));
}

TEST(WeightsTest, ReadsRowsAndRefusesOthers) {
  FakeWeights weights;
  weights.Add("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  std::vector<float> out(4);
  ASSERT_OK(weights.ReadRows("w", 1, 2, absl::MakeSpan(out)));
  EXPECT_THAT(out, ElementsAre(3, 4, 5, 6));
  for (const int64_t first : {-1, 2, 4}) {
    EXPECT_THAT(weights.ReadRows("w", first, 2, absl::MakeSpan(out)),
                StatusIs(absl::StatusCode::kOutOfRange));
  }
  EXPECT_THAT(weights.ReadRows("w", 0, 1, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(weights.ReadRows("v", 0, 2, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(FakeWeightsTest, RoundsValuesToTheirType) {
  FakeWeights weights;
  weights.Add("b", {1}, {1.001F}, DType::kBF16);
  weights.Add("h", {1}, {1.0001F}, DType::kF16);
  EXPECT_THAT(ReadTensor(weights, "b", {1}), IsOkAndHolds(ElementsAre(1.0F)));
  EXPECT_THAT(ReadTensor(weights, "h", {1}), IsOkAndHolds(ElementsAre(1.0F)));
  EXPECT_EQ(weights.Find("b")->dtype, DType::kBF16);
  weights.Release("b");
  EXPECT_THAT(weights.released(), ElementsAre("b"));
}

}  // namespace
}  // namespace omni
