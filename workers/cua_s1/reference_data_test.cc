// Compares with the recorded numbers of the Cua-S1 contract.

#include "runtime/testing/reference_data.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/json/reader.h"
#include "runtime/json/render.h"
#include "runtime/json/value.h"
#include "runtime/testing/status_matchers.h"
#include "workers/cua_s1/readout.h"

namespace omni::cua_s1 {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::testing::ElementsAreArray;

std::vector<float> Floats(const json::Value& numbers) {
  std::vector<float> floats;
  for (const json::Value& number : numbers.array()) {
    floats.push_back(static_cast<float>(*DoubleOf(number)));
  }
  return floats;
}

class CuaS1ReferenceDataTest : public testing::ReferenceDataTest {
 protected:
  json::Array Cases(const std::string& key) const {
    const json::Value root =
        testing::MustReadJsonFile(Path("cua-s1-golden/contract_cases.json"));
    const json::Value* cases = root.Find(key);
    if (cases == nullptr || cases->array().empty()) {
      ADD_FAILURE() << "no cases for " << key;
      return {};
    }
    return cases->array();
  }
};

TEST_F(CuaS1ReferenceDataTest, LettersAreProjectedAsRecorded) {
  for (const json::Value& c : Cases("letter_projection")) {
    std::vector<std::vector<float>> rows;
    for (const json::Value& row : c.Find("letter_rows")->array()) {
      rows.push_back(Floats(row));
    }
    EXPECT_THAT(
        ProjectLetters(rows, Floats(*c.Find("hidden")),
                       static_cast<int>(*IntegerOf(*c.Find("n_options")))),
        IsOkAndHolds(ElementsAreArray(Floats(*c.Find("logits")))));
  }
}

TEST_F(CuaS1ReferenceDataTest, ProbabilitiesAreTheRecordedFp32Values) {
  for (const json::Value& c : Cases("softmax_fp32")) {
    const std::vector<float> logits = Floats(*c.Find("logits"));
    ASSERT_OK_AND_ASSIGN(
        const v1::ChoiceAnswer answer,
        AnswerChoice(std::vector<std::string>(logits.size(), "x"), logits));
    const json::Array& expected = c.Find("probabilities")->array();
    ASSERT_EQ(static_cast<size_t>(answer.probabilities_size()),
              expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(answer.probabilities(static_cast<int>(i)).value(),
                *DoubleOf(expected[i]));
    }
  }
}

TEST_F(CuaS1ReferenceDataTest, ConfidenceIsTheRecordedOne) {
  for (const json::Value& c : Cases("confidence")) {
    std::vector<float> logits;
    for (const json::Value& p : c.Find("probabilities")->array()) {
      logits.push_back(static_cast<float>(std::log(*DoubleOf(p))));
    }
    ASSERT_OK_AND_ASSIGN(
        const v1::ChoiceAnswer answer,
        AnswerChoice(std::vector<std::string>(logits.size(), "x"), logits));
    // The probabilities went through FP32 twice, as logits and as themselves:
    // each is off by a few times 2^-24, and the entropy by as much times
    // |ln p| + 1.
    EXPECT_NEAR(answer.confidence(), *DoubleOf(*c.Find("confidence")), 2e-6);
  }
}

TEST_F(CuaS1ReferenceDataTest, NumbersAreRenderedAsRecorded) {
  for (const json::Value& c : Cases("number_rendering")) {
    ASSERT_OK_AND_ASSIGN(const json::Value value,
                         json::Read(c.Find("json")->string()));
    EXPECT_EQ(json::Render(value, json::Dialect::kStrict),
              c.Find("rendered")->string());
  }
}

}  // namespace
}  // namespace omni::cua_s1
