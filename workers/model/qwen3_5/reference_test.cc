#include "workers/model/qwen3_5/reference.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/qwen3_5/formula_weights.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni::qwen3_5 {
namespace {

using ::omni::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Pointwise;

MATCHER_P(Near, tolerance, "") {
  *result_listener << "off by "
                   << std::abs(std::get<0>(arg) - std::get<1>(arg));
  return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= tolerance;
}

// The vectors have nine or ten significant digits.
constexpr double kPrinted = 5e-9;
// They were made with angles in double precision, not FP32; after some hundred
// tokens this shows.
constexpr double kLongPrompt = 5e-8;

// Not rounded to FP32, unlike the weights of MakeFormulaModel.
absl::StatusOr<std::vector<double>> ReadFormula(
    const Config& config, std::string_view name,
    absl::Span<const int64_t> shape) {
  const std::vector<TensorSpec> tensors = TextTensors(config);
  for (size_t n = 0; n < tensors.size(); ++n) {
    if (tensors[n].name != name) continue;
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    std::vector<double> values(size);
    for (int64_t i = 0; i < size; ++i) {
      values[i] = FormulaValue(static_cast<int>(n), i);
    }
    return values;
  }
  return absl::NotFoundError(std::string(name));
}

std::unique_ptr<ReferenceDecoder> MakeFormulaDecoder(const Config& config) {
  auto decoder = ReferenceDecoder::LoadFrom(
      config,
      [&config](std::string_view name, absl::Span<const int64_t> shape) {
        return ReadFormula(config, name, shape);
      });
  EXPECT_OK(decoder.status());
  return *std::move(decoder);
}

// (7t + 3) mod vocabulary.
std::vector<uint32_t> FormulaPrompt(int tokens, int vocabulary) {
  std::vector<uint32_t> ids(tokens);
  for (int t = 0; t < tokens; ++t) ids[t] = (7 * t + 3) % vocabulary;
  return ids;
}

absl::Span<const double> LastRow(const Matrix& matrix) {
  return matrix.row(matrix.rows() - 1);
}

struct FinalCase {
  std::vector<uint32_t> prompt;
  std::vector<double> final_norm;
};

TEST(ReferenceDecoderTest, GivesEveryIntermediateRowOfTheSmallModel) {
  const auto decoder = MakeFormulaDecoder(SmallFormulaConfig());
  ASSERT_OK_AND_ASSIGN(const ReferenceDecoder::Trace trace,
                       decoder->Run({3, 1, 4, 1, 5}));
  ASSERT_EQ(trace.layers.size(), 2);
  EXPECT_THAT(
      LastRow(trace.layers[0].after_mixer),
      Pointwise(Near(kPrinted),
                {0.36678437, -0.255693804, 0.047352232, -0.073800802,
                 0.099644215, -0.135916057, -0.416938683, 0.361405076}));
  EXPECT_THAT(LastRow(trace.layers[0].after_mlp),
              Pointwise(Near(kPrinted),
                        {-1.094169416, -0.758255399, -0.460212293, -0.76682637,
                         1.236371815, 0.457017953, -0.214294245, 1.332232559}));
  EXPECT_THAT(LastRow(trace.layers[1].after_mixer),
              Pointwise(Near(kPrinted),
                        {-1.290659105, 0.001709095, -0.392917693, -1.791782776,
                         0.637244561, 0.026033771, -0.767449317, 1.162701923}));
  EXPECT_THAT(
      LastRow(trace.layers[1].after_mlp),
      Pointwise(Near(kPrinted),
                {-1.485278185, 0.075388789, -0.023940087, -1.582928314,
                 0.655980968, -0.022838902, -1.114119708, 1.216599223}));
  EXPECT_THAT(LastRow(trace.final_norm),
              Pointwise(Near(kPrinted),
                        {-0.755862548767, 0.0865200571115, -0.035011693393,
                         -1.11768388618, 0.446337988477, -0.0333341363076,
                         -1.22907504041, 0.616914482089}));
}

TEST(ReferenceDecoderTest, GivesTheTiedLogitsOfTheSmallModel) {
  const Config config = SmallFormulaConfig();
  const auto decoder = MakeFormulaDecoder(config);
  ASSERT_OK_AND_ASSIGN(const ReferenceDecoder::Trace trace,
                       decoder->Run({3, 1, 4, 1, 5}));
  ASSERT_OK_AND_ASSIGN(std::vector<double> embedding,
                       ReadFormula(config, "embed_tokens.weight",
                                   {config.vocab_size, config.hidden_size}));
  const Matrix logits =
      Linear(trace.final_norm, Matrix(config.hidden_size, embedding));
  EXPECT_THAT(LastRow(logits),
              Pointwise(Near(kPrinted),
                        {1.207511775, -1.757997773, 0.938241526, 1.103190348,
                         -0.602238736, 0.290582396, 0.490691311, 0.520890171,
                         -0.462953644, 0.431205367, 1.569696184}));
}

TEST(ReferenceDecoderTest, GivesTheFinalRowsOfTheSmallModel) {
  const FinalCase kCases[] = {
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
  };
  const auto decoder = MakeFormulaDecoder(SmallFormulaConfig());
  for (const FinalCase& c : kCases) {
    SCOPED_TRACE(c.prompt.size());
    ASSERT_OK_AND_ASSIGN(const ReferenceDecoder::Trace trace,
                         decoder->Run(c.prompt));
    EXPECT_THAT(LastRow(trace.final_norm),
                Pointwise(Near(kLongPrompt), c.final_norm));
  }
}

TEST(ReferenceDecoderTest, GivesEveryIntermediateRowOfTheRatioModel) {
  const auto decoder = MakeFormulaDecoder(RatioFormulaConfig());
  ASSERT_OK_AND_ASSIGN(const ReferenceDecoder::Trace trace,
                       decoder->Run({3, 10, 4, 11, 5}));
  ASSERT_EQ(trace.layers.size(), 3);
  EXPECT_THAT(
      LastRow(trace.layers[0].after_mixer),
      Pointwise(Near(kPrinted),
                {-0.2250317615, 0.2581616061, -1.143448771, 0.3505077717,
                 -0.3948731308, 0.1676559628, -0.8902219012, -0.2881468802,
                 -0.2022949602, -0.6664896258, -0.1391139586, 0.2496644216}));
  EXPECT_THAT(
      LastRow(trace.layers[0].after_mlp),
      Pointwise(Near(kPrinted),
                {-1.671586333, -0.6597271945, -2.215871784, -1.211459289,
                 1.093710297, 1.765357176, -1.49544332, 0.945794472,
                 -0.434392472, 0.6095087514, 1.700592466, 0.07447376444}));
  EXPECT_THAT(
      LastRow(trace.layers[1].after_mixer),
      Pointwise(Near(kPrinted),
                {-3.724619301, -1.6530676, -4.081030131, 0.1390827094,
                 -0.5376610799, 1.76946698, -1.988979741, 2.670295239,
                 -3.676761371, -0.3175647417, 1.666174499, -0.9673041224}));
  EXPECT_THAT(
      LastRow(trace.layers[1].after_mlp),
      Pointwise(Near(kPrinted),
                {-6.200514542, -4.510605038, -2.328111424, 0.6026800758,
                 -1.373491522, -1.253683033, -1.615430763, 0.8704499104,
                 -5.008681673, 1.905145389, 4.206171285, -0.5022077951}));
  EXPECT_THAT(LastRow(trace.layers[2].after_mixer),
              Pointwise(Near(kPrinted),
                        {-6.416006266, -3.906841023, -1.947424613, 0.9335293172,
                         -1.378077911, -1.352378696, -1.355553911, 0.1518135642,
                         -5.469481579, 2.136846106, 3.3704754, -1.05720058}));
  EXPECT_THAT(
      LastRow(trace.layers[2].after_mlp),
      Pointwise(Near(kPrinted),
                {-5.734169811, -6.213088246, 0.8213216676, 2.936149512,
                 -5.095302536, -5.549226877, 2.073799152, -3.81444586,
                 -5.583183901, 0.4503375912, 3.118006713, 0.2939650798}));
  EXPECT_THAT(
      LastRow(trace.final_norm),
      Pointwise(Near(kPrinted),
                {-0.7167683476, -1.767079412, 0.2920004963, 0.4970085169,
                 -0.8634721534, -1.989112738, 0.550599879, -0.4746460206,
                 -1.684917742, 0.1489327121, 0.4111999784, 0.07330725134}));
}

TEST(ReferenceDecoderTest, GivesTheTiedLogitsOfTheRatioModel) {
  const Config config = RatioFormulaConfig();
  const auto decoder = MakeFormulaDecoder(config);
  ASSERT_OK_AND_ASSIGN(const ReferenceDecoder::Trace trace,
                       decoder->Run({3, 10, 4, 11, 5}));
  ASSERT_OK_AND_ASSIGN(std::vector<double> embedding,
                       ReadFormula(config, "embed_tokens.weight",
                                   {config.vocab_size, config.hidden_size}));
  const Matrix logits =
      Linear(trace.final_norm, Matrix(config.hidden_size, embedding));
  EXPECT_THAT(LastRow(logits),
              Pointwise(Near(kPrinted),
                        {-2.934438088, -0.9694051693, 0.5695792447,
                         0.9147569511, -0.7479861555, -0.9495511932,
                         -0.1873289051, 0.3859885619, 1.965406396, -2.969948742,
                         -1.368612398, 1.365325411, -0.3131469019}));
}

TEST(ReferenceDecoderTest, GivesTheFinalRowsOfTheRatioModel) {
  const FinalCase kCases[] = {
      {{7},
       {0.3361116807, 1.315337338, -0.4682557598, -1.026394543, 0.09766126572,
        -0.1743199602, -0.1178475065, -0.1005954626, 1.324878368, -1.629097259,
        0.3019863399, -2.233306606}},
      {FormulaPrompt(70, 13),
       {-0.6493112629, -2.13114059, -0.5181746831, -0.06084750911,
        -0.3295664396, -1.232281491, -0.1653009621, -0.4166697473, -1.186295057,
        0.8765237205, 1.027171117, 0.324354899}},
  };
  const auto decoder = MakeFormulaDecoder(RatioFormulaConfig());
  for (const FinalCase& c : kCases) {
    SCOPED_TRACE(c.prompt.size());
    ASSERT_OK_AND_ASSIGN(const ReferenceDecoder::Trace trace,
                         decoder->Run(c.prompt));
    EXPECT_THAT(LastRow(trace.final_norm),
                Pointwise(Near(kLongPrompt), c.final_norm));
  }
}

TEST(ReferenceDecoderTest, LoadsUnderEveryPrefixOfACheckpoint) {
  for (const std::string prefix : {"model.language_model.", "model.", ""}) {
    SCOPED_TRACE(prefix);
    FormulaModel model = MakeFormulaModel(SmallFormulaConfig(), prefix);
    ASSERT_OK_AND_ASSIGN(const auto decoder,
                         ReferenceDecoder::Load(model.weights, model.config));
    ASSERT_OK_AND_ASSIGN(const auto rows, decoder->Forward({{{7}}}));
    ASSERT_EQ(rows.size(), 1);
    // Weights are FP32 here.
    EXPECT_THAT(rows[0],
                Pointwise(Near(5e-6), {0.495934684, 2.20917804, -1.847875749,
                                       -0.733283, 0.089489075, 1.031073972,
                                       0.065310966, 0.072001682}));
  }
}

TEST(ReferenceDecoderTest, RefusesAMissingTensorAndAWrongShape) {
  FormulaModel model = MakeFormulaModel(SmallFormulaConfig());
  const std::string name = "model.language_model.layers.1.mlp.up_proj.weight";
  model.weights.Remove(name);
  EXPECT_THAT(ReferenceDecoder::Load(model.weights, model.config),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(name)));
  model.weights.Add(name, {4, 2}, std::vector<float>(8));
  EXPECT_THAT(ReferenceDecoder::Load(model.weights, model.config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
}

}  // namespace
}  // namespace omni::qwen3_5
