#include "tools/checkpoint/random_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/checkpoint.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/qwen3_5/reference.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni {
namespace {

using ::omni::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kFiles[] = {"config.json", "cua_s1_export.json",
                                  "model.safetensors", "tokenizer.json"};
constexpr char kDemo[] = "tools/checkpoint/demo";
constexpr int64_t kMaxDemoBytes = 4'000'000;

absl::StatusOr<std::string> ReadIn(std::string folder, const char* name) {
  return ReadFile(folder.append("/").append(name), kMaxDemoBytes);
}

TEST(RandomCheckpointTest, DemoIsWhatTheToolWrites) {
  const std::string folder = ::testing::TempDir() + "/again";
  ASSERT_OK(WriteRandomCheckpoint("demo", 1, folder));
  int64_t size = 0;
  for (const char* name : kFiles) {
    ASSERT_OK_AND_ASSIGN(const std::string written, ReadIn(folder, name));
    ASSERT_OK_AND_ASSIGN(const std::string kept, ReadIn(kDemo, name));
    EXPECT_TRUE(written == kept) << name;
    size += static_cast<int64_t>(kept.size());
  }
  EXPECT_LE(size, kMaxDemoBytes);
}

TEST(RandomCheckpointTest, DemoLoadsAndHasEveryTensor) {
  ASSERT_OK_AND_ASSIGN(
      const qwen3_5::Config config,
      qwen3_5::LoadConfig(std::string(kDemo) + "/config.json"));
  ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(kDemo));
  ASSERT_OK_AND_ASSIGN(const std::string prefix,
                       qwen3_5::ResolvePrefix(*checkpoint));
  EXPECT_EQ(prefix, "model.language_model.");
  for (const qwen3_5::TensorSpec& tensor : qwen3_5::TextTensors(config)) {
    ASSERT_OK_AND_ASSIGN(
        const std::vector<float> values,
        ReadTensor(*checkpoint, prefix + tensor.name, tensor.shape));
    EXPECT_GT(std::set<float>(values.begin(), values.end()).size(), 1)
        << tensor.name;
  }
}

// Token ids like those of a prompt: all kinds, then the end that they share.
std::vector<uint32_t> Prompt(uint32_t number) {
  std::vector<uint32_t> ids;
  for (uint32_t t = 0; t < 60; ++t) {
    ids.push_back((37 * t * t + 101 * number * t + 11 * number) % 496);
  }
  for (const uint32_t id : {498, 198, 497, 198, 499, 198}) ids.push_back(id);
  return ids;
}

// |after - before| / |before|.
double Change(absl::Span<const double> after, absl::Span<const double> before) {
  double change = 0;
  double size = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    change += (after[i] - before[i]) * (after[i] - before[i]);
    size += before[i] * before[i];
  }
  return std::sqrt(change / size);
}

class DemoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        const qwen3_5::Config config,
        qwen3_5::LoadConfig(std::string(kDemo) + "/config.json"));
    ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(kDemo));
    ASSERT_OK_AND_ASSIGN(decoder_,
                         qwen3_5::ReferenceDecoder::Load(*checkpoint, config));
    ASSERT_OK_AND_ASSIGN(
        embedding_,
        ReadTensor(*checkpoint, "model.language_model.embed_tokens.weight",
                   {config.vocab_size, config.hidden_size}));
  }

  // Probabilities of the first `count` letters after a final row.
  std::vector<double> Letters(absl::Span<const double> hidden, int count) {
    std::vector<double> weights;
    double sum = 0;
    for (int letter = 0; letter < count; ++letter) {
      const float* row = embedding_.data() + (32 + letter) * hidden.size();
      double logit = 0;
      for (size_t i = 0; i < hidden.size(); ++i) logit += row[i] * hidden[i];
      weights.push_back(std::exp(logit));
      sum += weights.back();
    }
    for (double& weight : weights) weight /= sum;
    return weights;
  }

  std::unique_ptr<qwen3_5::ReferenceDecoder> decoder_;
  std::vector<float> embedding_;
};

TEST_F(DemoTest, EveryLayerChangesTheResidualVisibly) {
  const std::vector<uint32_t> prompt = Prompt(1);
  ASSERT_OK_AND_ASSIGN(const auto trace, decoder_->Run(prompt));
  const int64_t last = trace.final_norm.rows() - 1;
  const int64_t width = trace.final_norm.columns();
  const auto embedded = embedding_.begin() + prompt.back() * width;
  std::vector<double> before(embedded, embedded + width);
  for (const auto& layer : trace.layers) {
    const absl::Span<const double> mixed = layer.after_mixer.row(last);
    const absl::Span<const double> after = layer.after_mlp.row(last);
    EXPECT_GT(Change(mixed, before), 0.2);
    EXPECT_GT(Change(after, mixed), 0.2);
    before.assign(after.begin(), after.end());
  }
}

TEST_F(DemoTest, AnswersDependOnThePromptAndAreNotCertain) {
  constexpr int kOptions = 4;
  std::set<int64_t> choices;
  for (uint32_t number = 0; number < 8; ++number) {
    ASSERT_OK_AND_ASSIGN(const auto trace, decoder_->Run(Prompt(number)));
    const std::vector<double> letters =
        Letters(trace.final_norm.row(trace.final_norm.rows() - 1), kOptions);
    const auto best = std::max_element(letters.begin(), letters.end());
    EXPECT_LT(*best, 0.999);
    EXPECT_GT(*best, 0.3);
    choices.insert(best - letters.begin());
  }
  EXPECT_GE(choices.size(), 2);
}

TEST(RandomCheckpointTest, MarkerSaysThatTheModelIsUntrained) {
  ASSERT_OK_AND_ASSIGN(
      const json::Value marker,
      ReadJsonFile(std::string(kDemo) + "/cua_s1_export.json"));
  EXPECT_EQ(marker.Find("format")->string(), "cua-s1-text-merged/1");
  for (const char* key : {"request_model", "response_model", "notice"}) {
    EXPECT_THAT(marker.Find(key)->string(), HasSubstr("untrained")) << key;
  }
}

TEST(RandomCheckpointTest, SeedDecidesTheWeights) {
  const std::string folder = ::testing::TempDir() + "/seed";
  ASSERT_OK(WriteRandomCheckpoint("demo", 2, folder));
  ASSERT_OK_AND_ASSIGN(const std::string other,
                       ReadIn(folder, "model.safetensors"));
  ASSERT_OK_AND_ASSIGN(const std::string demo,
                       ReadIn(kDemo, "model.safetensors"));
  EXPECT_EQ(other.size(), demo.size());
  EXPECT_NE(other, demo);
}

TEST(RandomCheckpointTest, NamesWhatIsWrong) {
  EXPECT_THAT(WriteRandomCheckpoint("huge", 1, ::testing::TempDir() + "/x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("huge")));
  const std::string file = ::testing::TempDir() + "/file";
  ASSERT_OK(WriteFile(file, ""));
  EXPECT_THAT(WriteRandomCheckpoint("demo", 1, file + "/folder"),
              StatusIs(absl::StatusCode::kUnknown, StartsWith(file)));
}

}  // namespace
}  // namespace omni
