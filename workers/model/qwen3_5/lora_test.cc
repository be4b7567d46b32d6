#include "workers/model/qwen3_5/lora.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/qwen3_5/formula_weights.h"
#include "workers/model/safetensors_writer.h"

namespace omni::qwen3_5 {
namespace {

using ::omni::testing::FakeWeights;
using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kConfig[] = R"({
    "alpha_pattern": {}, "base_model_name_or_path": "base", "bias": "none",
    "fan_in_fan_out": false, "layer_replication": null, "lora_alpha": 12,
    "lora_dropout": 0.05, "modules_to_save": null, "peft_type": "LORA",
    "r": 6, "rank_pattern": {}, "target_modules": "all-linear",
    "use_dora": false, "use_rslora": false})";
constexpr int kRank = 6;
constexpr double kScale = 2;
constexpr char kRootA[] = "base_model.model.model.layers.1.self_attn.k_proj";

// Values of about the size of trained ones, all different.
float Value(size_t seed, size_t i) {
  return static_cast<float>(
      0.3 * std::sin(1.3 * static_cast<double>(i) + static_cast<double>(seed)));
}

// One tensor of an adapter's file.
struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::kF32;
};

// Both tensors of a module.
std::vector<Tensor> Pair(const std::string& stem, int64_t out, int64_t in) {
  return {{stem + ".lora_A.weight", {kRank, in}},
          {stem + ".lora_B.weight", {out, kRank}}};
}

class LoraTest : public ::testing::Test {
 protected:
  LoraTest() { WriteConfig(kConfig); }

  void WriteConfig(const std::string& text) {
    ASSERT_OK(WriteFile(ConfigPath(), text));
  }

  // Tensor number n holds Value(n, i), and `special` as its last element.
  void WriteTensors(const std::vector<Tensor>& tensors,
                    std::optional<float> special = std::nullopt) {
    std::vector<SafetensorsWriter::Tensor> specs;
    for (const Tensor& tensor : tensors) {
      specs.push_back({tensor.name, tensor.dtype, tensor.shape});
    }
    ASSERT_OK_AND_ASSIGN(auto writer,
                         SafetensorsWriter::Create(FilePath(), specs));
    for (size_t n = 0; n < tensors.size(); ++n) {
      size_t size = 1;
      for (const int64_t extent : tensors[n].shape) {
        size *= static_cast<size_t>(extent);
      }
      std::vector<float> values;
      for (size_t i = 0; i < size; ++i) values.push_back(Value(n, i));
      if (special.has_value()) values.back() = *special;
      ASSERT_OK(writer->Append(values));
    }
    ASSERT_OK(writer->Finish());
  }

  std::string ConfigPath() const { return folder_ + "/adapter_config.json"; }
  std::string FilePath() const {
    return folder_ + "/adapter_model.safetensors";
  }

  // The formula's second model: H 12, two key/value heads of 8, so that its
  // only full layer has k_proj [16, 12].
  absl::StatusOr<std::unique_ptr<AdaptedWeights>> Load(
      const std::string& prefix = "model.language_model.") {
    FormulaModel model = MakeFormulaModel(RatioFormulaConfig(), prefix);
    return AdaptedWeights::Load(
        std::make_unique<FakeWeights>(std::move(model.weights)), folder_);
  }

  const std::string folder_ = ::testing::TempDir();
};

TEST_F(LoraTest, MergesAsTheFormulaSays) {
  WriteTensors(Pair(kRootA, 16, 12));
  ASSERT_OK_AND_ASSIGN(const auto weights, Load());
  EXPECT_EQ(weights->module_count(), 1);
  const std::string name =
      "model.language_model.layers.1.self_attn.k_proj.weight";
  ASSERT_OK_AND_ASSIGN(const std::vector<float> merged,
                       ReadTensor(*weights, name, {16, 12}));
  FormulaModel base = MakeFormulaModel(RatioFormulaConfig());
  ASSERT_OK_AND_ASSIGN(const std::vector<float> before,
                       ReadTensor(base.weights, name, {16, 12}));
  for (size_t row = 0; row < 16; ++row) {
    for (size_t column = 0; column < 12; ++column) {
      double delta = 0;
      double magnitude = 0;
      for (size_t k = 0; k < kRank; ++k) {
        const double product = kScale * Value(1, row * kRank + k) *
                               static_cast<double>(Value(0, k * 12 + column));
        delta += product;
        magnitude += std::abs(product);
      }
      const double expected = before[row * 12 + column] + delta;
      EXPECT_NEAR(
          merged[row * 12 + column], expected,
          (kRank + 2) * 0x1p-24 * magnitude + 0x1p-24 * std::abs(expected));
    }
  }
  EXPECT_EQ(weights->Find(name)->dtype, DType::kF32);
}

TEST_F(LoraTest, BlocksOfRowsGiveTheWholeTensorBitForBit) {
  WriteTensors(Pair(kRootA, 16, 12));
  ASSERT_OK_AND_ASSIGN(const auto weights, Load());
  const std::string name =
      "model.language_model.layers.1.self_attn.k_proj.weight";
  ASSERT_OK_AND_ASSIGN(const std::vector<float> whole,
                       ReadTensor(*weights, name, {16, 12}));
  weights->Release(name);
  std::vector<float> blocks(16 * 12);
  for (const auto& [first, count] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 5}, {6, 10}}) {
    ASSERT_OK(weights->ReadRows(
        name, first, count,
        absl::MakeSpan(blocks).subspan(first * 12, count * 12)));
  }
  EXPECT_EQ(blocks, whole);
  EXPECT_OK(weights->ReadRows(name, 0, 0, {}));
  EXPECT_THAT(weights->ReadRows(name, 16, 1, absl::MakeSpan(blocks)),
              StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(LoraTest, OtherTensorsAreTheBaseModels) {
  WriteTensors(Pair(kRootA, 16, 12));
  ASSERT_OK_AND_ASSIGN(const auto weights, Load());
  FormulaModel base = MakeFormulaModel(RatioFormulaConfig());
  const std::string name =
      "model.language_model.layers.1.self_attn.v_proj.weight";
  ASSERT_OK_AND_ASSIGN(const std::vector<float> before,
                       ReadTensor(base.weights, name, {16, 12}));
  EXPECT_THAT(ReadTensor(*weights, name, {16, 12}), IsOkAndHolds(before));
  EXPECT_EQ(weights->Find("other"), nullptr);
}

TEST_F(LoraTest, AdaptersOfThreeClassesFitEveryPrefix) {
  for (const char* root : {"base_model.model.model.", "base_model.model.",
                           "base_model.model.model.language_model."}) {
    for (const char* prefix : {"model.language_model.", "model.", ""}) {
      SCOPED_TRACE(std::string(root) + " on " + prefix);
      WriteTensors(
          Pair(std::string(root) + "layers.0.linear_attn.out_proj", 12, 18));
      ASSERT_OK_AND_ASSIGN(const auto weights, Load(prefix));
      EXPECT_EQ(weights
                    ->Find(std::string(prefix) +
                           "layers.0.linear_attn.out_proj.weight")
                    ->dtype,
                DType::kF32);
    }
  }
}

TEST_F(LoraTest, SixteenBitAdaptersLoad) {
  std::vector<Tensor> tensors = Pair(kRootA, 16, 12);
  tensors[0].dtype = DType::kBF16;
  tensors[1].dtype = DType::kF16;
  WriteTensors(tensors);
  EXPECT_OK(Load());
}

TEST_F(LoraTest, RefusesWhatIsNoPlainAdapter) {
  struct Case {
    std::string name;
    std::string from;
    std::string to;
    std::string message;
  };
  std::vector<Case> cases = {
      {"type", "\"LORA\"", "\"IA3\"", "peft_type"},
      {"no type", "\"peft_type\"", "\"type\"", "peft_type"},
      {"dora", "\"use_dora\": false", "\"use_dora\": true", "use_dora"},
      {"rslora", "\"use_rslora\": false", "\"use_rslora\": true", "use_rslora"},
      {"fan in", "\"fan_in_fan_out\": false", "\"fan_in_fan_out\": true",
       "fan_in_fan_out"},
      {"no boolean", "\"use_dora\": false", "\"use_dora\": 1", "use_dora"},
      {"saved modules", "\"modules_to_save\": null",
       "\"modules_to_save\": [\"score\"]", "modules_to_save"},
      {"ranks", "\"rank_pattern\": {}", "\"rank_pattern\": {\"q_proj\": 4}",
       "rank_pattern"},
      {"alphas", "\"alpha_pattern\": {}", "\"alpha_pattern\": {\"q_proj\": 4}",
       "alpha_pattern"},
      {"replication", "\"layer_replication\": null",
       "\"layer_replication\": [[0, 2], [1, 3]]", "layer_replication"},
      {"bias", "\"bias\": \"none\"", "\"bias\": \"all\"", "bias"},
      {"quantized base", "\"r\": 6", "\"r\": 6, \"use_qalora\": true",
       "use_qalora"},
      {"bias of B", "\"r\": 6", "\"r\": 6, \"lora_bias\": true", "lora_bias"},
      {"invoked", "\"r\": 6", "\"r\": 6, \"alora_invocation_tokens\": [7, 8]",
       "alora_invocation_tokens"},
      {"invoked by nothing", "\"r\": 6",
       "\"r\": 6, \"alora_invocation_tokens\": []", "alora_invocation_tokens"},
      {"start as a number", "\"r\": 6", "\"r\": 6, \"init_lora_weights\": 1",
       "init_lora_weights"},
      {"base as a number", "\"base\"", "4", "base_model_name_or_path"},
      {"revision as a number", "\"r\": 6", "\"r\": 6, \"revision\": 4",
       "revision"},
      {"rank 0", "\"r\": 6", "\"r\": 0", "r is not an integer of 1 to 128"},
      {"rank 129", "\"r\": 6", "\"r\": 129", "r is not an integer of 1 to 128"},
      {"rank 6.0", "\"r\": 6", "\"r\": 6.0", "r is not an integer"},
      {"no rank", "\"r\"", "\"s\"", "r is not an integer"},
      {"no alpha", "\"lora_alpha\"", "\"alpha\"", "lora_alpha"},
      {"alpha text", "\"lora_alpha\": 12", "\"lora_alpha\": \"12\"",
       "lora_alpha"},
      {"alpha beyond FP32", "\"lora_alpha\": 12", "\"lora_alpha\": 1e39",
       "lora_alpha"},
      {"no object", kConfig, "[]", "peft_type"},
      {"no JSON", kConfig, "{", ""},
  };
  for (const char* const init : {"pissa", "pissa_niter_16", "olora", "corda",
                                 "loftq", "unheard of", ""}) {
    cases.push_back(
        {init, "\"r\": 6",
         absl::StrFormat("\"r\": 6, \"init_lora_weights\": \"%s\"", init),
         "init_lora_weights"});
  }
  WriteTensors(Pair(kRootA, 16, 12));
  EXPECT_OK(Load());
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string text = absl::StrReplaceAll(kConfig, {{c.from, c.to}});
    ASSERT_NE(text, kConfig);
    WriteConfig(text);
    EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(StartsWith(ConfigPath() + ": "),
                                       HasSubstr(c.message))));
  }
}

TEST_F(LoraTest, AcceptsKeysThatLeaveTheFormulaAsItIs) {
  WriteTensors(Pair(kRootA, 16, 12));
  for (const char* const keys :
       {R"("init_lora_weights": true)", R"("init_lora_weights": false)",
        R"("init_lora_weights": null)", R"("init_lora_weights": "gaussian")",
        R"("init_lora_weights": "eva")", R"("init_lora_weights": "orthogonal")",
        R"("use_qalora": false, "lora_bias": false)",
        R"("alora_invocation_tokens": null)"}) {
    SCOPED_TRACE(keys);
    WriteConfig(absl::StrReplaceAll(
        kConfig, {{"\"r\": 6", absl::StrFormat("\"r\": 6, %s", keys)}}));
    EXPECT_OK(Load());
  }
}

TEST_F(LoraTest, SaysWhatTheAdapterWasTrainedOn) {
  WriteTensors(Pair(kRootA, 16, 12));
  {
    ASSERT_OK_AND_ASSIGN(const auto weights, Load());
    EXPECT_EQ(weights->base_model(), "base");
    EXPECT_EQ(weights->base_revision(), "");
  }
  WriteConfig(absl::StrReplaceAll(
      kConfig, {{"\"base_model_name_or_path\": \"base\"",
                 R"("base_model_name_or_path": null, "revision": "main")"}}));
  ASSERT_OK_AND_ASSIGN(const auto weights, Load());
  EXPECT_EQ(weights->base_model(), "");
  EXPECT_EQ(weights->base_revision(), "main");
}

TEST_F(LoraTest, RefusesTensorsThatDoNotFit) {
  struct Case {
    std::string name;
    std::vector<Tensor> tensors;
    std::string message;
  };
  const std::string root = "base_model.model.model.";
  const std::string k_proj = kRootA;
  const auto with = [&](Tensor extra) {
    std::vector<Tensor> tensors = Pair(k_proj, 16, 12);
    tensors.push_back(std::move(extra));
    return tensors;
  };
  std::vector<Tensor> twice = Pair(k_proj, 16, 12);
  twice.push_back({"base_model.model.layers.1.self_attn.k_proj.lora_A.weight",
                   {kRank, 12}});
  const std::vector<Case> cases = {
      {"nothing", {}, "has no tensors"},
      {"no B",
       {{k_proj + ".lora_A.weight", {kRank, 12}}},
       "lora_A.weight\" has no lora_B beside it"},
      {"no A",
       {{k_proj + ".lora_B.weight", {16, kRank}}},
       "lora_B.weight\" has no lora_A beside it"},
      {"other rank",
       {{k_proj + ".lora_A.weight", {4, 12}},
        {k_proj + ".lora_B.weight", {16, 4}}},
       "has shape [4, 12], expected [6, 12]"},
      {"other input", Pair(k_proj, 16, 8), "shape [6, 8], expected [6, 12]"},
      {"other output", Pair(k_proj, 12, 12), "shape [12, 6], expected [16, 6]"},
      {"flat A",
       {{k_proj + ".lora_A.weight", {kRank * 12}},
        {k_proj + ".lora_B.weight", {16, kRank}}},
       "has shape [72], expected [6, 12]"},
      {"magnitude", with({k_proj + ".lora_magnitude_vector.weight", {16}}),
       "neither a lora_A nor a lora_B"},
      {"embedding", with({root + "embed_tokens.lora_A.weight", {1}}),
       "projection of the text model's layers"},
      {"vision", with({root + "visual.blocks.0.attn.qkv.lora_A.weight", {1}}),
       "projection of the text model's layers"},
      {"norm", with({root + "layers.1.input_layernorm.lora_A.weight", {1}}),
       "projection of the text model's layers"},
      {"convolution",
       with({root + "layers.0.linear_attn.conv1d.lora_A.weight", {1}}),
       "projection of the text model's layers"},
      {"layer without number",
       with({root + "layers..mlp.up_proj.lora_A.weight", {1}}),
       "projection of the text model's layers"},
      {"no root", with({"model.layers.1.mlp.up_proj.lora_A.weight", {1}}),
       "projection of the text model's layers"},
      {"layer beyond the last",
       with({root + "layers.3.mlp.up_proj.lora_A.weight", {1}}),
       "is for model.language_model.layers.3.mlp.up_proj.weight, which the "
       "base model does not have"},
      {"attention in a linear layer",
       with({root + "layers.0.self_attn.k_proj.lora_A.weight", {1}}),
       "which the base model does not have"},
      {"two names for one", twice, "and so is"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    WriteTensors(c.tensors);
    EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(StartsWith(FilePath() + ": "),
                                       HasSubstr(c.message))));
  }
}

TEST_F(LoraTest, RefusesValuesThatAreNotFinite) {
  for (const float value : {std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    WriteTensors(Pair(kRootA, 16, 12), value);
    EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("a value that is not finite")));
  }
}

TEST_F(LoraTest, MissingFilesAreNamed) {
  const std::string folder = ::testing::TempDir() + "/no_adapter";
  EXPECT_THAT(AdaptedWeights::Load(std::make_unique<FakeWeights>(), folder),
              StatusIs(absl::StatusCode::kNotFound,
                       StartsWith(folder + "/adapter_config.json: ")));
}

TEST_F(LoraTest, BaseWithoutEmbeddingIsRefused) {
  WriteTensors(Pair(kRootA, 16, 12));
  EXPECT_THAT(AdaptedWeights::Load(std::make_unique<FakeWeights>(), folder_),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace omni::qwen3_5
