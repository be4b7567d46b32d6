#include "workers/model/qwen3_5/cpu_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/ops/every_target.h"
#include "workers/model/qwen3_5/formula_weights.h"
#include "workers/model/qwen3_5/reference.h"
#include "workers/model/qwen3_5/tensors.h"
#include "workers/model/testing/fake_weights.h"

namespace omni::qwen3_5 {
namespace {

using ::omni::testing::FakeWeights;
using ::omni::testing::IsOk;
using ::omni::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kPrefix[] = "model.language_model.";

std::vector<uint32_t> FormulaPrompt(int tokens, int vocabulary) {
  std::vector<uint32_t> ids(tokens);
  for (int t = 0; t < tokens; ++t) ids[t] = (7 * t + 3) % vocabulary;
  return ids;
}

// Head sizes of published models, everything else small; two queries a key and
// two value heads a key head.
Config WideHeadsConfig() {
  Config config;
  config.hidden_size = 96;
  config.intermediate_size = 160;
  config.vocab_size = 50;
  config.layers = {LayerType::kLinearAttention, LayerType::kFullAttention};
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 256;
  config.rotary_dim = 64;
  config.rope_theta = 1e7;
  config.linear_num_key_heads = 2;
  config.linear_num_value_heads = 4;
  config.linear_key_head_dim = 128;
  config.linear_value_head_dim = 128;
  config.rms_norm_eps = 1e-6;
  config.max_position_embeddings = 4096;
  return config;
}

// Every tensor random, matrices scaled so that a product keeps the size of its
// input.
FakeWeights RandomWeights(const Config& config, DType dtype) {
  FakeWeights weights;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const TensorSpec& tensor : TextTensors(config)) {
    int64_t size = 1;
    for (const int64_t extent : tensor.shape) size *= extent;
    float scale = 0.3F;
    if (tensor.shape.size() == 2 && tensor.name != "embed_tokens.weight") {
      scale = 1.0F / std::sqrt(static_cast<float>(tensor.shape[1]));
    }
    std::vector<float> values(size);
    for (float& value : values) value = scale * normal(random);
    weights.Add(kPrefix + tensor.name, tensor.shape, std::move(values), dtype);
  }
  return weights;
}

std::unique_ptr<ReferenceDecoder> LoadReference(const Config& config,
                                                FakeWeights& weights) {
  auto decoder = ReferenceDecoder::LoadFrom(
      config,
      [&weights](std::string_view name, absl::Span<const int64_t> shape)
          -> absl::StatusOr<std::vector<double>> {
        ASSIGN_OR_RETURN(
            const std::vector<float> values,
            ReadTensor(weights, kPrefix + std::string(name), shape));
        return std::vector<double>(values.begin(), values.end());
      });
  EXPECT_THAT(decoder.status(), IsOk());
  return *std::move(decoder);
}

std::unique_ptr<CpuDecoder> LoadCpu(const Config& config, FakeWeights& weights,
                                    CpuPrecision precision, int threads = 1) {
  auto decoder = CpuDecoder::Load(weights, config, {precision, threads});
  EXPECT_THAT(decoder.status(), IsOk());
  return *std::move(decoder);
}

std::vector<float> RunOne(Decoder& decoder, std::vector<uint32_t> prompt) {
  auto rows = decoder.Forward({{std::move(prompt)}});
  EXPECT_THAT(rows.status(), IsOk());
  EXPECT_EQ(rows->size(), 1U);
  return std::move(rows->front());
}

double RootMeanSquare(const std::vector<float>& row) {
  double sum = 0;
  for (const float value : row) sum += double{value} * value;
  return std::sqrt(sum / static_cast<double>(row.size()));
}

void ExpectNear(const std::vector<float>& row, const std::vector<float>& exact,
                double tolerance) {
  ASSERT_EQ(row.size(), exact.size());
  for (size_t i = 0; i < row.size(); ++i) {
    EXPECT_NEAR(row[i], exact[i], tolerance) << "element " << i;
  }
}

// What FP32 may be off: the rows are of size 1 to 3.
constexpr double kF32Tolerance = 1e-4;

class CpuDecoderTargetTest : public ops::EveryTargetTest {};
OMNI_FOR_EVERY_TARGET(CpuDecoderTargetTest);

TEST_P(CpuDecoderTargetTest, F32MatchesTheReferenceOnTheFormulaModels) {
  for (const Config& config : {SmallFormulaConfig(), RatioFormulaConfig()}) {
    FormulaModel model = MakeFormulaModel(config, kPrefix);
    const auto reference = LoadReference(config, model.weights);
    const auto decoder = LoadCpu(config, model.weights, CpuPrecision::kF32);
    for (const int tokens : {1, 2, 3, 4, 5, 63, 64, 65, 150}) {
      SCOPED_TRACE(::testing::Message()
                   << tokens << " tokens, H " << config.hidden_size);
      const auto prompt = FormulaPrompt(tokens, config.vocab_size);
      ExpectNear(RunOne(*decoder, prompt), RunOne(*reference, prompt),
                 kF32Tolerance);
    }
  }
}

// The row of the model with wide heads and BF16 weights for a prompt of
// FormulaPrompt; the reference is slow, so each is computed once.
const std::vector<float>& WideHeadsReference(int tokens) {
  static auto* const rows = new std::map<int, std::vector<float>>;
  std::vector<float>& row = (*rows)[tokens];
  if (row.empty()) {
    const Config config = WideHeadsConfig();
    FakeWeights weights = RandomWeights(config, DType::kBF16);
    row = RunOne(*LoadReference(config, weights),
                 FormulaPrompt(tokens, config.vocab_size));
  }
  return row;
}

TEST_P(CpuDecoderTargetTest, F32MatchesTheReferenceWithWideHeads) {
  const Config config = WideHeadsConfig();
  FakeWeights weights = RandomWeights(config, DType::kBF16);
  const auto decoder = LoadCpu(config, weights, CpuPrecision::kF32);
  // 150 ends inside a chunk, 258 inside the second block.
  for (const int tokens : {5, 150, 258}) {
    SCOPED_TRACE(tokens);
    ExpectNear(RunOne(*decoder, FormulaPrompt(tokens, config.vocab_size)),
               WideHeadsReference(tokens), kF32Tolerance);
  }
}

bool IsFinite(const std::vector<float>& row) {
  return std::all_of(row.begin(), row.end(),
                     [](float value) { return std::isfinite(value); });
}

TEST_P(CpuDecoderTargetTest, ADamagedTensorGivesANonFiniteRow) {
  const FormulaModel model = MakeFormulaModel(SmallFormulaConfig(), kPrefix);
  for (const CpuPrecision precision :
       {CpuPrecision::kF32, CpuPrecision::kAuto}) {
    FakeWeights sound = model.weights;
    const auto sound_decoder = LoadCpu(model.config, sound, precision);
    // Within a chunk of the DeltaNet and a tile of attention, and over both.
    for (const int tokens : {1, 5, 70}) {
      EXPECT_TRUE(IsFinite(RunOne(*sound_decoder, FormulaPrompt(tokens, 11))));
    }
    for (const TensorSpec& tensor : TextTensors(model.config)) {
      const std::string name = kPrefix + tensor.name;
      FakeWeights damaged = model.weights;
      ASSERT_OK_AND_ASSIGN(std::vector<float> values,
                           ReadTensor(damaged, name, tensor.shape));
      // The first, or for the embedding one in the row of the first token.
      const size_t at =
          tensor.name == "embed_tokens.weight" ? 3 * tensor.shape[1] + 1 : 0;
      values[at] = std::numeric_limits<float>::quiet_NaN();
      damaged.Add(name, tensor.shape, std::move(values));
      const auto decoder = LoadCpu(model.config, damaged, precision);
      for (const int tokens : {1, 5, 70}) {
        EXPECT_FALSE(IsFinite(RunOne(*decoder, FormulaPrompt(tokens, 11))))
            << name << ", " << tokens << " tokens";
      }
    }
  }
}

TEST(CpuDecoderTest, F32GivesTheRowsOfTheSpecification) {
  FormulaModel small = MakeFormulaModel(SmallFormulaConfig(), kPrefix);
  const auto decoder = LoadCpu(small.config, small.weights, CpuPrecision::kF32);
  ExpectNear(
      RunOne(*decoder, {3, 1, 4, 1, 5}),
      {-0.755862548767F, 0.0865200571115F, -0.035011693393F, -1.11768388618F,
       0.446337988477F, -0.0333341363076F, -1.22907504041F, 0.616914482089F},
      2e-5);
  ExpectNear(RunOne(*decoder, {7}),
             {0.495934684F, 2.20917804F, -1.847875749F, -0.733283F,
              0.089489075F, 1.031073972F, 0.065310966F, 0.072001682F},
             2e-5);
  ExpectNear(RunOne(*decoder, FormulaPrompt(150, 11)),
             {0.149128792F, -1.242087F, 1.00493239F, -0.632015831F,
              0.428871295F, 2.67662545F, 0.684883702F, 0.554025008F},
             2e-5);

  FormulaModel ratio = MakeFormulaModel(RatioFormulaConfig(), kPrefix);
  const auto ratio_decoder =
      LoadCpu(ratio.config, ratio.weights, CpuPrecision::kF32);
  ExpectNear(RunOne(*ratio_decoder, {3, 10, 4, 11, 5}),
             {-0.7167683476F, -1.767079412F, 0.2920004963F, 0.4970085169F,
              -0.8634721534F, -1.989112738F, 0.550599879F, -0.4746460206F,
              -1.684917742F, 0.1489327121F, 0.4111999784F, 0.07330725134F},
             2e-5);
}

TEST(CpuDecoderTest, F32MatchesTheReferenceOverSeveralBlocks) {
  const Config config = WideHeadsConfig();
  FakeWeights weights = RandomWeights(config, DType::kBF16);
  const auto decoder = LoadCpu(config, weights, CpuPrecision::kF32);
  for (const int tokens : {256, 257, 258, 515, 700}) {
    SCOPED_TRACE(tokens);
    ExpectNear(RunOne(*decoder, FormulaPrompt(tokens, config.vocab_size)),
               WideHeadsReference(tokens), kF32Tolerance);
  }
}

TEST(CpuDecoderTest, Bf16IsOffByTheRoundingOfItsOperands) {
  const Config config = WideHeadsConfig();
  FakeWeights weights = RandomWeights(config, DType::kBF16);
  auto loaded = CpuDecoder::Load(weights, config, {CpuPrecision::kBF16, 1});
  if (loaded.status().code() == absl::StatusCode::kFailedPrecondition) {
    GTEST_SKIP() << loaded.status();
  }
  ASSERT_OK(loaded.status());
  EXPECT_EQ((*loaded)->operand(), ops::Operand::kBF16);
  for (const int tokens : {1, 65, 258}) {
    SCOPED_TRACE(tokens);
    const std::vector<float> row =
        RunOne(**loaded, FormulaPrompt(tokens, config.vocab_size));
    const std::vector<float>& exact = WideHeadsReference(tokens);
    std::vector<float> difference(row.size());
    for (size_t i = 0; i < row.size(); ++i) difference[i] = row[i] - exact[i];
    // The weights are BF16 already. The input of each of the eight products is
    // off by 2^-9 of itself at most, and about half of that on average; in the
    // worst case the products' errors add up.
    const double off = RootMeanSquare(difference) / RootMeanSquare(exact);
    EXPECT_LT(off, 8 * 0x1p-9);
    EXPECT_GT(off, 0x1p-14);  // It did round.
  }
}

TEST(CpuDecoderTest, ASequenceGivesTheSameAloneInAPlanAndAfterALongerOne) {
  const Config config = WideHeadsConfig();
  FakeWeights weights = RandomWeights(config, DType::kF32);
  const auto prompts = {FormulaPrompt(70, 50), FormulaPrompt(300, 50),
                        FormulaPrompt(3, 50), FormulaPrompt(130, 50)};
  const auto decoder = LoadCpu(config, weights, CpuPrecision::kAuto);
  ASSERT_OK_AND_ASSIGN(const auto together, decoder->Forward({prompts}));
  ASSERT_EQ(together.size(), prompts.size());
  size_t i = 0;
  for (const auto& prompt : prompts) {
    const auto fresh = LoadCpu(config, weights, CpuPrecision::kAuto);
    EXPECT_EQ(RunOne(*fresh, prompt), together[i]);
    EXPECT_EQ(RunOne(*decoder, prompt), together[i]);
    ++i;
  }
}

TEST(CpuDecoderTest, TheNumberOfThreadsDoesNotChangeTheResult) {
  if (!ops::HasAvx512()) GTEST_SKIP() << "promised for AVX-512 only";
  const Config config = WideHeadsConfig();
  FakeWeights weights = RandomWeights(config, DType::kF32);
  const auto prompt = FormulaPrompt(300, 50);
  for (const CpuPrecision precision :
       {CpuPrecision::kF32, CpuPrecision::kAuto}) {
    const auto one = LoadCpu(config, weights, precision, 1);
    EXPECT_EQ(one->threads(), 1);
    const std::vector<float> row = RunOne(*one, prompt);
    for (const int threads : {2, 3}) {
      const auto more = LoadCpu(config, weights, precision, threads);
      EXPECT_EQ(RunOne(*more, prompt), row) << threads;
    }
  }
}

TEST(CpuDecoderTest, EmbeddingsOfEveryTypeAreLookedUpExactly) {
  // Numbers that all three types hold, so that all three decoders are the same.
  const Config config = SmallFormulaConfig();
  FormulaModel model = MakeFormulaModel(config, kPrefix);
  std::vector<float> values(config.vocab_size * config.hidden_size);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<float>(i) - 40.0F) / 32.0F;
  }
  std::vector<std::vector<float>> rows;
  std::vector<int64_t> bytes;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    model.weights.Add(std::string(kPrefix) + "embed_tokens.weight",
                      {config.vocab_size, config.hidden_size}, values, dtype);
    const auto decoder = LoadCpu(config, model.weights, CpuPrecision::kF32);
    rows.push_back(RunOne(*decoder, {3, 1, 4, 10, 0}));
    bytes.push_back(decoder->weight_bytes());
  }
  EXPECT_EQ(rows[1], rows[0]);
  EXPECT_EQ(rows[2], rows[0]);
  const auto size = static_cast<int64_t>(values.size());
  EXPECT_EQ(bytes[0] - bytes[1], 2 * size);
  EXPECT_EQ(bytes[1], bytes[2]);
}

TEST(CpuDecoderTest, EveryTensorIsReleasedAfterItWasRead) {
  FormulaModel model = MakeFormulaModel(SmallFormulaConfig(), kPrefix);
  LoadCpu(model.config, model.weights, CpuPrecision::kF32);
  for (const std::string& name : model.weights.Names()) {
    EXPECT_THAT(model.weights.released(), ::testing::Contains(name));
  }
}

TEST(CpuDecoderTest, LoadSaysWhichTensorIsMissingOrOfTheWrongShape) {
  const FormulaModel model = MakeFormulaModel(RatioFormulaConfig(), kPrefix);
  for (const TensorSpec& tensor : TextTensors(model.config)) {
    const std::string name = kPrefix + tensor.name;
    SCOPED_TRACE(name);
    FakeWeights missing = model.weights;
    missing.Remove(name);
    EXPECT_THAT(CpuDecoder::Load(missing, model.config, {}),
                StatusIs(absl::StatusCode::kNotFound,
                         HasSubstr("embed_tokens.weight" == tensor.name
                                       ? "embedding"
                                       : tensor.name)));
    FakeWeights reshaped = model.weights;
    reshaped.Add(name, {1, 2}, {1, 2});
    EXPECT_THAT(CpuDecoder::Load(reshaped, model.config, {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  }
}

TEST(CpuDecoderTest, LoadRefusesOptionsOutOfRange) {
  FormulaModel model = MakeFormulaModel(SmallFormulaConfig(), kPrefix);
  for (const int threads : {-1, 1025}) {
    EXPECT_THAT(CpuDecoder::Load(model.weights, model.config,
                                 {CpuPrecision::kF32, threads}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::to_string(threads))));
  }
  model.config.conv_kernel = 3;
  EXPECT_THAT(CpuDecoder::Load(model.weights, model.config, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("linear_conv_kernel_dim")));
}

TEST(CpuDecoderTest, AutoTakesBf16ExactlyWhereItIsFast) {
  FormulaModel model = MakeFormulaModel(SmallFormulaConfig(), kPrefix);
  const auto decoder =
      LoadCpu(model.config, model.weights, CpuPrecision::kAuto, 0);
  EXPECT_EQ(decoder->operand(),
            ops::HasFastBf16() ? ops::Operand::kBF16 : ops::Operand::kF32);
  EXPECT_GE(decoder->threads(), 1);
  const auto bf16 =
      CpuDecoder::Load(model.weights, model.config, {CpuPrecision::kBF16, 1});
  if (ops::HasFastBf16()) {
    EXPECT_OK(bf16);
  } else {
    EXPECT_THAT(bf16, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("precision bf16")));
  }
}

TEST(CpuDecoderTest, ForwardChecksItsPlan) {
  FormulaModel model = MakeFormulaModel(SmallFormulaConfig(), kPrefix);
  const auto decoder = LoadCpu(model.config, model.weights, CpuPrecision::kF32);
  EXPECT_THAT(decoder->Forward({}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(decoder->Forward({{{11}}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace omni::qwen3_5
