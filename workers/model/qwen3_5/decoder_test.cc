#include "workers/model/qwen3_5/decoder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni::qwen3_5 {
namespace {

using ::omni::testing::StatusIs;
using ::testing::HasSubstr;

Config SmallConfig() {
  Config config;
  config.vocab_size = 11;
  config.max_position_embeddings = 3;
  return config;
}

TEST(CheckPlanTest, TakesEveryLengthAndIdThatTheModelHas) {
  EXPECT_OK(CheckPlan({{{0}, {10, 0, 10}}}, SmallConfig()));
}

TEST(CheckPlanTest, NamesWhatIsWrong) {
  const struct {
    const char* name;
    Plan plan;
    const char* message;
  } kCases[] = {
      {"no sequence", {}, "no sequence"},
      {"empty sequence", {{{1}, {}}}, "Sequence 1 of the plan has no token"},
      {"too long",
       {{{1, 1, 1, 1}}},
       "Sequence 0 of the plan has 4 tokens; the model takes at most 3"},
      {"unknown id",
       {{{1}, {2, 11}}},
       "Sequence 1 of the plan holds the token id 11; the model has 11"},
      {"largest id", {{{0xFFFFFFFF}}}, "the token id 4294967295"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(
        CheckPlan(c.plan, SmallConfig()),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

}  // namespace
}  // namespace omni::qwen3_5
