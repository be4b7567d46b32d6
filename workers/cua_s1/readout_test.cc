#include "workers/cua_s1/readout.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni::cua_s1 {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<double> Values(const v1::ChoiceAnswer& answer) {
  std::vector<double> values;
  for (const v1::Probability& p : answer.probabilities()) {
    values.push_back(p.value());
  }
  return values;
}

TEST(ProjectLettersTest, AddsInDoublePrecisionAndRoundsOnce) {
  const std::vector<std::vector<float>> rows = {{16777216, 1, -16777216},
                                                {16777216, 1, 0}};
  EXPECT_THAT(ProjectLetters(rows, {1, 1, 1}, 2),
              IsOkAndHolds(ElementsAre(1.0f, 16777216.0f)));
}

TEST(ProjectLettersTest, LeavesUnusedLettersAlone) {
  // The second row would be refused if it were read.
  const std::vector<std::vector<float>> rows = {{1, 2}, {kNan}};
  EXPECT_THAT(ProjectLetters(rows, {3, 4}, 1),
              IsOkAndHolds(ElementsAre(11.0f)));
}

TEST(ProjectLettersTest, RefusesWhatIsNotFinite) {
  EXPECT_THAT(ProjectLetters({{1, 1}}, {1, kNan}, 1),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(ProjectLetters({{1, 1}}, {1, kInf}, 1),
              StatusIs(absl::StatusCode::kInternal));
  // Finite in double precision, too large for FP32.
  EXPECT_THAT(ProjectLetters({{3e38f, 3e38f}}, {1, 1}, 1),
              StatusIs(absl::StatusCode::kInternal));
}

TEST(ProjectLettersTest, RefusesAHiddenStateOfAnotherLength) {
  EXPECT_THAT(ProjectLetters({{1, 1, 1}}, {1, 1}, 1),
              StatusIs(absl::StatusCode::kInternal));
}

TEST(AnswerChoiceTest, GivesTheNumbersOfTheContract) {
  const struct {
    const char* name;
    std::vector<float> logits;
    std::vector<double> probabilities;
    const char* choice;
    double confidence;
  } cases[] = {
      {"large logits",
       {1000, 1001},
       {0.2689414322376251, 0.7310585975646973},
       "b",
       0.1600584758649244},
      {"three options",
       {0.5, 2.0, -1.25},
       {0.17682018876075745, 0.7924530506134033, 0.030726740136742592},
       "b",
       0.4559371003076106},
      {"a tie goes to the first", {0, 0}, {0.5, 0.5}, "a", 0},
      {"half and two quarters",
       {std::log(2.0f), 0, 0},
       {0.5, 0.25, 0.25},
       "a",
       0.05360536964281404},
      {"one option", {-3}, {1}, "a", 1},
  };
  const std::vector<std::string> labels = {"a", "b", "c"};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    ASSERT_OK_AND_ASSIGN(
        const v1::ChoiceAnswer answer,
        AnswerChoice(absl::MakeSpan(labels).first(c.logits.size()), c.logits));
    EXPECT_EQ(answer.choice(), c.choice);
    ASSERT_EQ(Values(answer).size(), c.probabilities.size());
    for (size_t i = 0; i < c.probabilities.size(); ++i) {
      EXPECT_EQ(answer.probabilities(i).key(), labels[i]);
      // FP32 values: one unit in the last place for another libm.
      EXPECT_NEAR(answer.probabilities(i).value(), c.probabilities[i], 6e-8);
    }
    EXPECT_NEAR(answer.confidence(), c.confidence, 3e-7);
  }
}

TEST(AnswerChoiceTest, ProbabilitiesAreFp32Values) {
  ASSERT_OK_AND_ASSIGN(const v1::ChoiceAnswer answer,
                       AnswerChoice({"a", "b"}, {0.1f, 0.7f}));
  for (const double p : Values(answer)) {
    EXPECT_EQ(p, static_cast<double>(static_cast<float>(p)));
  }
}

TEST(AnswerChoiceTest, AVanishingProbabilityCountsAsZeroEntropy) {
  ASSERT_OK_AND_ASSIGN(const v1::ChoiceAnswer answer,
                       AnswerChoice({"a", "b"}, {0, -1e4}));
  EXPECT_THAT(Values(answer), ElementsAre(1.0, 0.0));
  EXPECT_EQ(answer.confidence(), 1.0);
}

TEST(AnswerChoiceTest, RefusesMissingOrWildLogits) {
  EXPECT_THAT(AnswerChoice({"a", "b"}, {1}),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(AnswerChoice({}, {}), StatusIs(absl::StatusCode::kInternal));
  for (const float wild : {kNan, kInf, -kInf}) {
    EXPECT_THAT(AnswerChoice({"a", "b"}, {1, wild}),
                StatusIs(absl::StatusCode::kInternal));
  }
}

}  // namespace
}  // namespace omni::cua_s1
