#include "workers/model/qwen3_5/conformance.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/checkpoint.h"
#include "workers/model/qwen3_5/formula_weights.h"
#include "workers/model/qwen3_5/lora.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni::qwen3_5 {
namespace {

using ::omni::testing::StatusIs;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// The FP32 runs sum at most some hundred products of size one at a time.
constexpr double kRoundingOfFp32Run = 2e-5;
constexpr double kF32 = 1e-4;

using Rows = std::vector<std::vector<float>>;

// A model whose weights are a formula, and the name of its recorded runs.
struct FormulaCase {
  const char* name;
  Config (*config)();
};
constexpr FormulaCase kSmallFormula = {"formula_small", &SmallFormulaConfig};
constexpr FormulaCase kRatioFormula = {"formula_ratio", &RatioFormulaConfig};
constexpr FormulaCase kFormulaCases[] = {kSmallFormula, kRatioFormula};

std::unique_ptr<Decoder> LoadFormula(const Implementation& implementation,
                                     const Config& config) {
  FormulaModel model = MakeFormulaModel(config);
  auto decoder = implementation.load(model.weights, model.config);
  EXPECT_OK(decoder.status());
  return decoder.ok() ? *std::move(decoder) : nullptr;
}

std::vector<uint32_t> RandomPrompt(int tokens, int vocabulary,
                                   std::mt19937& random) {
  std::vector<uint32_t> prompt(tokens);
  for (uint32_t& id : prompt) id = random() % vocabulary;
  return prompt;
}

// (7t + 3) mod vocabulary.
std::vector<uint32_t> FormulaPrompt(int tokens, int vocabulary) {
  std::vector<uint32_t> ids(tokens);
  for (int t = 0; t < tokens; ++t) ids[t] = (7 * t + 3) % vocabulary;
  return ids;
}

// The final rows of one of the two recorded runs.
Rows RowsOf(const GoldenRuns& golden, std::vector<float> GoldenRun::*run) {
  Rows rows;
  for (const GoldenRun& recorded : golden.runs) rows.push_back(recorded.*run);
  return rows;
}

double LargestDifference(const std::vector<double>& a,
                         const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

size_t Top(const std::vector<double>& probabilities) {
  return std::max_element(probabilities.begin(), probabilities.end()) -
         probabilities.begin();
}

// Probability of the first choice less that of the second.
double Margin(std::vector<double> probabilities) {
  std::sort(probabilities.rbegin(), probabilities.rend());
  return probabilities[0] - probabilities[1];
}

// Rows that a decoder gave for the prompts of a golden case, held against the
// recorded decisions among the first `count` letters.
void ExpectSameDecisions(const GoldenRuns& golden, const Rows& rows,
                         const std::vector<float>& embedding, size_t count) {
  SCOPED_TRACE(::testing::Message() << count << " letters");
  const auto letters = absl::MakeConstSpan(golden.letters).subspan(0, count);
  double off = 0;
  double bf16_run_off = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const GoldenRun& run = golden.runs[i];
    const auto expected = LetterProbabilities(embedding, letters, run.fp32);
    const auto actual = LetterProbabilities(embedding, letters, rows[i]);
    const auto bf16 = LetterProbabilities(embedding, letters, run.bf16);
    off = std::max(off, LargestDifference(actual, expected));
    bf16_run_off = std::max(bf16_run_off, LargestDifference(bf16, expected));
    if (Margin(expected) >= 0.05) {
      EXPECT_EQ(Top(actual), Top(expected))
          << run.prompt.size() << " tokens, margin " << Margin(expected);
    }
  }
  EXPECT_LE(off, AllowedProbabilityDeviation(bf16_run_off));
}

// Holds what the implementation computes with `weights` against the recorded
// runs, the rows as such and as decisions.
void ExpectRuns(const std::string& name, const Implementation& implementation,
                WeightSource& weights, const Config& config,
                const GoldenRuns& golden) {
  SCOPED_TRACE(name);
  ASSERT_OK_AND_ASSIGN(const auto decoder,
                       implementation.load(weights, config));
  Plan plan;
  for (const GoldenRun& run : golden.runs) plan.sequences.push_back(run.prompt);
  ASSERT_OK_AND_ASSIGN(const Rows rows, decoder->Forward(plan));
  ASSERT_THAT(rows, SizeIs(golden.runs.size()));

  const Deviation actual = DeviationOf(rows, RowsOf(golden, &GoldenRun::fp32));
  const Deviation allowed = AllowedDeviation(implementation.precision, golden);
  std::cout << name << ": largest deviation " << actual.largest << " of "
            << allowed.largest << ", in the mean square " << actual.rms
            << " of " << allowed.rms << "\n";
  EXPECT_LE(actual.largest, allowed.largest);
  EXPECT_LE(actual.rms, allowed.rms);

  ASSERT_OK_AND_ASSIGN(const std::string prefix, ResolvePrefix(weights));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> embedding,
                       ReadTensor(weights, prefix + "embed_tokens.weight",
                                  {config.vocab_size, config.hidden_size}));
  ExpectSameDecisions(golden, rows, embedding, 4);
  ExpectSameDecisions(golden, rows, embedding, golden.letters.size());
}

}  // namespace

Deviation AllowedDeviation(Precision precision, const GoldenRuns& golden) {
  const Deviation bf16_run = DeviationOf(RowsOf(golden, &GoldenRun::bf16),
                                         RowsOf(golden, &GoldenRun::fp32));
  switch (precision) {
    case Precision::kDouble:
      return {kRoundingOfFp32Run, kRoundingOfFp32Run};
    case Precision::kF32:
      return {kF32, kF32};
    case Precision::kBf16:
      return {2 * bf16_run.largest, 2 * bf16_run.rms};
  }
  return {};
}

double AllowedProbabilityDeviation(double bf16_run) {
  return 2 * bf16_run + 0.01;
}

TEST_P(DecoderConformanceTest, RefusesABadPlanAndServesTheNext) {
  Config config = SmallFormulaConfig();
  config.max_position_embeddings = 4;
  const auto decoder = LoadFormula(GetParam(), config);
  ASSERT_NE(decoder, nullptr);
  const struct {
    const char* name;
    Plan plan;
  } kCases[] = {
      {"no sequence", {}},
      {"empty sequence", {{{1}, {}}}},
      {"too long", {{{1}, {1, 1, 1, 1, 1}}}},
      {"unknown id", {{{1}, {2, 11}}}},
      {"largest id", {{{std::numeric_limits<uint32_t>::max()}}}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(decoder->Forward(c.plan),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  ASSERT_OK_AND_ASSIGN(const Rows rows, decoder->Forward({{{1, 2, 3, 10}}}));
  EXPECT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows[0], SizeIs(config.hidden_size));
}

TEST_P(DecoderConformanceTest, KeepsItsConfig) {
  const auto decoder = LoadFormula(GetParam(), RatioFormulaConfig());
  ASSERT_NE(decoder, nullptr);
  EXPECT_EQ(decoder->config().hidden_size, 12);
  EXPECT_EQ(decoder->config().vocab_size, 13);
  EXPECT_EQ(decoder->config().max_position_embeddings,
            RatioFormulaConfig().max_position_embeddings);
}

// In whatever company: alone, after a longer one, in the middle of a plan.
TEST_P(DecoderConformanceTest, SequenceGivesTheSameRowInEveryPlan) {
  const auto decoder = LoadFormula(GetParam(), RatioFormulaConfig());
  ASSERT_NE(decoder, nullptr);
  std::mt19937 random(1);
  Plan plan;
  for (const int tokens : {5, 1, 130, 2, 64, 65, 3, 63}) {
    plan.sequences.push_back(RandomPrompt(tokens, 13, random));
  }
  plan.sequences.push_back(plan.sequences[0]);
  ASSERT_OK_AND_ASSIGN(const Rows together, decoder->Forward(plan));
  ASSERT_THAT(together, SizeIs(plan.sequences.size()));
  for (size_t i = 0; i < plan.sequences.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_OK_AND_ASSIGN(const Rows alone,
                         decoder->Forward({{plan.sequences[i]}}));
    ASSERT_THAT(alone, SizeIs(1));
    EXPECT_THAT(together[i], ElementsAreArray(alone[0]));
  }
}

TEST_P(DecoderConformanceTest, KeepsTheOrderOfThePlan) {
  const auto decoder = LoadFormula(GetParam(), SmallFormulaConfig());
  ASSERT_NE(decoder, nullptr);
  ASSERT_OK_AND_ASSIGN(const Rows forward,
                       decoder->Forward({{{1}, {2, 3}, {4}, {5, 6, 7}}}));
  ASSERT_OK_AND_ASSIGN(const Rows backward,
                       decoder->Forward({{{5, 6, 7}, {4}, {2, 3}, {1}}}));
  ASSERT_THAT(forward, SizeIs(4));
  EXPECT_THAT(backward, ElementsAreArray(forward.rbegin(), forward.rend()));
  EXPECT_NE(forward[0], forward[2]);
}

struct VectorCase {
  std::vector<uint32_t> prompt;
  std::vector<float> final_norm;
};

// Vectors that were computed in double precision without transformers.
void ExpectVectors(const Implementation& implementation,
                   const FormulaCase& formula,
                   const std::vector<VectorCase>& cases) {
  const Config config = formula.config();
  const auto decoder = LoadFormula(implementation, config);
  ASSERT_NE(decoder, nullptr);
  ASSERT_OK_AND_ASSIGN(const GoldenRuns golden,
                       LoadGoldenRuns(formula.name, config.hidden_size));
  const Deviation allowed = AllowedDeviation(implementation.precision, golden);
  for (const VectorCase& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.prompt.size() << " tokens");
    ASSERT_OK_AND_ASSIGN(const Rows rows, decoder->Forward({{c.prompt}}));
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_LE(DeviationOf(rows, {c.final_norm}).largest, allowed.largest);
  }
}

TEST_P(DecoderConformanceTest, GivesTheVectorsOfTheSmallFormulaModel) {
  ExpectVectors(
      GetParam(), kSmallFormula,
      {
          {{3, 1, 4, 1, 5},
           {-0.755862548767, 0.0865200571115, -0.035011693393, -1.11768388618,
            0.446337988477, -0.0333341363076, -1.22907504041, 0.616914482089}},
          {{7},
           {0.495934684, 2.20917804, -1.847875749, -0.733283, 0.089489075,
            1.031073972, 0.065310966, 0.072001682}},
          {FormulaPrompt(64, 11),
           {-0.132074286, 1.10725607, -2.30501367, -0.517729341, -0.644997012,
            0.735271828, 1.12298191, -0.653646389}},
          {FormulaPrompt(65, 11),
           {0.144971684, 1.98299369, -0.283754336, -0.72931738, 1.06860624,
            -0.622224599, -0.488446119, 0.468774301}},
          {FormulaPrompt(150, 11),
           {0.149128792, -1.242087, 1.00493239, -0.632015831, 0.428871295,
            2.67662545, 0.684883702, 0.554025008}},
      });
}

TEST_P(DecoderConformanceTest, GivesTheVectorsOfTheRatioFormulaModel) {
  ExpectVectors(
      GetParam(), kRatioFormula,
      {
          {{3, 10, 4, 11, 5},
           {-0.7167683476, -1.767079412, 0.2920004963, 0.4970085169,
            -0.8634721534, -1.989112738, 0.550599879, -0.4746460206,
            -1.684917742, 0.1489327121, 0.4111999784, 0.07330725134}},
          {{7},
           {0.3361116807, 1.315337338, -0.4682557598, -1.026394543,
            0.09766126572, -0.1743199602, -0.1178475065, -0.1005954626,
            1.324878368, -1.629097259, 0.3019863399, -2.233306606}},
          {FormulaPrompt(70, 13),
           {-0.6493112629, -2.13114059, -0.5181746831, -0.06084750911,
            -0.3295664396, -1.232281491, -0.1653009621, -0.4166697473,
            -1.186295057, 0.8765237205, 1.027171117, 0.324354899}},
      });
}

TEST_P(DecoderConformanceTest, GivesWhatTransformersGives) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, GoldenCaseNames());
  ASSERT_THAT(names, Not(IsEmpty()));
  for (const std::string& name : names) {
    ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(name));
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<WeightSource> weights,
                         Checkpoint::Open(golden.folder));
    if (!golden.adapter.empty()) {
      ASSERT_OK_AND_ASSIGN(
          weights, AdaptedWeights::Load(std::move(weights), golden.adapter));
    }
    ExpectRuns(name, GetParam(), *weights, golden.config, golden.expected);
  }
}

// The recorded lengths lie on both sides of every border that a chunk, a tile
// or a convolution may have.
TEST_P(DecoderConformanceTest, GivesWhatTransformersGivesAtEveryLength) {
  for (const FormulaCase& c : kFormulaCases) {
    const Config config = c.config();
    ASSERT_OK_AND_ASSIGN(const GoldenRuns golden,
                         LoadGoldenRuns(c.name, config.hidden_size));
    FormulaModel model = MakeFormulaModel(config);
    ExpectRuns(c.name, GetParam(), model.weights, config, golden);
  }
}

}  // namespace omni::qwen3_5
