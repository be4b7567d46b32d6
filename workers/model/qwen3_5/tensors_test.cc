#include "workers/model/qwen3_5/tensors.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/testing/fake_weights.h"

namespace omni::qwen3_5 {
namespace {

using ::omni::testing::FakeWeights;
using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::HasSubstr;

TEST(TensorsTest, TakesTheFirstPrefixWithAnEmbedding) {
  FakeWeights weights;
  EXPECT_THAT(
      ResolvePrefix(weights),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("embed_tokens.weight")));
  weights.Add("embed_tokens.weight", {1}, {0});
  EXPECT_THAT(ResolvePrefix(weights), IsOkAndHolds(""));
  weights.Add("model.embed_tokens.weight", {1}, {0});
  EXPECT_THAT(ResolvePrefix(weights), IsOkAndHolds("model."));
  weights.Add("model.language_model.embed_tokens.weight", {1}, {0});
  EXPECT_THAT(ResolvePrefix(weights), IsOkAndHolds("model.language_model."));
}

}  // namespace
}  // namespace omni::qwen3_5
