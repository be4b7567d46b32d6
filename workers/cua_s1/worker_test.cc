#include "workers/cua_s1/worker.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/json/reader.h"
#include "runtime/testing/status_matchers.h"
#include "workers/cua_s1/testing/fake_decoder.h"
#include "workers/cua_s1/testing/test_worker.h"
#include "workers/model/testing/fake_weights.h"

namespace omni::cua_s1 {
namespace {

using ::omni::testing::FakeDecoder;
using ::omni::testing::FakeWeights;
using ::omni::testing::MakeTestWorker;
using ::omni::testing::PublishedConfig;
using ::omni::testing::SmallConfig;
using ::omni::testing::SmallEmbedding;
using ::omni::testing::StatusIs;
using ::omni::testing::TestIdentity;
using ::omni::testing::TestWorker;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
class CuaS1WorkerTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<CuaS1Worker>> Create(
      const qwen3_5::Config& config = SmallConfig()) {
    ASSIGN_OR_RETURN(TestWorker made, MakeTestWorker(config));
    decoder_ = made.decoder;
    return std::move(made.worker);
  }

  static absl::StatusOr<std::unique_ptr<Decision>> Prepare(
      CuaS1Worker& worker, const std::string& questions) {
    ASSIGN_OR_RETURN(const json::Value request,
                     json::Read(R"({"model": "test-model", "state": "s",
                                    "questions": )" +
                                questions + "}"));
    return worker.Prepare(request);
  }

  FakeDecoder* decoder_ = nullptr;  // Owned by the worker.
};

constexpr char kTwoQuestions[] = R"({
    "first": {"type": "choice", "instructions": "?",
              "criteria": {"x": null, "y": null}},
    "second": {"type": "choice", "instructions": "?",
               "criteria": {"a": null, "b": null, "c": null}}})";

TEST_F(CuaS1WorkerTest, RunsOneUnitAQuestionAndAnswersInOrder) {
  ASSERT_OK_AND_ASSIGN(auto worker, Create());
  ASSERT_OK_AND_ASSIGN(auto decision, Prepare(*worker, kTwoQuestions));
  // Letter rows are (id, 1) with consecutive ids: the first component of the
  // hidden state makes the difference between neighbours.
  decoder_->Return({std::log(3.0f), 0});
  decoder_->Return({0, 7});

  Unit first = decision->NextUnit();
  ASSERT_TRUE(first);
  ASSERT_OK_AND_ASSIGN(Rows first_rows, std::move(first)());
  ASSERT_OK(decision->Accept(std::move(first_rows)));
  Unit second = decision->NextUnit();
  ASSERT_TRUE(second);
  ASSERT_OK_AND_ASSIGN(Rows second_rows, std::move(second)());
  ASSERT_OK(decision->Accept(std::move(second_rows)));
  EXPECT_FALSE(decision->NextUnit());

  ASSERT_OK_AND_ASSIGN(const v1::DecideResponse response, decision->Finish());
  EXPECT_EQ(response.model(), "test/model@1");
  ASSERT_EQ(response.answers_size(), 2);
  EXPECT_EQ(response.answers(0).id(), "first");
  EXPECT_EQ(response.answers(0).choice().choice(), "y");
  EXPECT_NEAR(response.answers(0).choice().probabilities(0).value(), 0.25,
              1e-5);
  EXPECT_EQ(response.answers(1).id(), "second");
  EXPECT_EQ(response.answers(1).choice().choice(), "a");
  EXPECT_EQ(response.answers(1).choice().probabilities_size(), 3);
  EXPECT_NEAR(response.answers(1).choice().confidence(), 0, 1e-6);

  ASSERT_EQ(decoder_->plans().size(), 2u);
  uint32_t tokens = 0;
  for (const qwen3_5::Plan& plan : decoder_->plans()) {
    ASSERT_EQ(plan.sequences.size(), 1u);
    tokens += plan.sequences[0].size();
  }
  EXPECT_EQ(response.usage().input_tokens(), tokens);
  EXPECT_EQ(response.usage().output_tokens(), 0u);
}

TEST_F(CuaS1WorkerTest, ANonFiniteLogitEndsTheRequestBeforeTheNextUnit) {
  ASSERT_OK_AND_ASSIGN(auto worker, Create());
  ASSERT_OK_AND_ASSIGN(auto decision, Prepare(*worker, kTwoQuestions));
  EXPECT_TRUE(decision->NextUnit());
  EXPECT_THAT(decision->Accept({{std::numeric_limits<float>::infinity(), 0}}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("letter A")));
}

TEST_F(CuaS1WorkerTest, RefusesRowsOfAnotherShape) {
  ASSERT_OK_AND_ASSIGN(auto worker, Create());
  ASSERT_OK_AND_ASSIGN(auto decision, Prepare(*worker, kTwoQuestions));
  EXPECT_TRUE(decision->NextUnit());
  EXPECT_THAT(decision->Accept({}), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(decision->Accept({{1, 2}, {1, 2}}),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(decision->Accept({{1, 2, 3}}),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(CuaS1WorkerTest, FinishRefusesMissingAnswers) {
  ASSERT_OK_AND_ASSIGN(auto worker, Create());
  ASSERT_OK_AND_ASSIGN(auto decision, Prepare(*worker, kTwoQuestions));
  EXPECT_THAT(decision->Finish(), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(CuaS1WorkerTest, ABadLastQuestionRunsNothing) {
  ASSERT_OK_AND_ASSIGN(auto worker, Create());
  EXPECT_FALSE(Prepare(*worker, R"({
      "good": {"type": "choice", "instructions": "?", "criteria": {"x": null}},
      "bad": {"type": "score", "instructions": "?", "criteria": ["x", "y"]}})")
                   .ok());
  EXPECT_TRUE(decoder_->plans().empty());
}

TEST_F(CuaS1WorkerTest, TheWarmUpRequestIsOneItAnswers) {
  ASSERT_OK_AND_ASSIGN(auto worker, Create());
  ASSERT_OK_AND_ASSIGN(const json::Value body,
                       json::Read(worker->WarmUpBody()));
  EXPECT_OK(worker->Prepare(body));
}

TEST_F(CuaS1WorkerTest, InfoTellsWhatIsServed) {
  ASSERT_OK_AND_ASSIGN(auto worker, Create());
  const v1::WorkerInfo info = worker->Info();
  EXPECT_EQ(info.model(), "test/model@1");
  EXPECT_THAT(info.request_models(), ElementsAre("test-model"));
  EXPECT_EQ(info.revision(), "1");
  EXPECT_EQ(info.notice(), "For tests.");
  EXPECT_THAT(info.question_types(), ElementsAre(v1::QUESTION_TYPE_CHOICE));
  EXPECT_EQ(info.limits().max_questions(), 64u);
  EXPECT_EQ(info.limits().min_options(), 1u);
  EXPECT_EQ(info.limits().max_options(), 26u);
  EXPECT_EQ(info.limits().min_levels(), 0u);
  EXPECT_EQ(info.limits().max_prompt_tokens(), 16384u);
  EXPECT_EQ(info.device(), "cpu");
  EXPECT_EQ(info.precision(), "f32");
  EXPECT_EQ(info.threads(), 2u);
  EXPECT_EQ(info.confidence_kind(), "entropy");
}

TEST_F(CuaS1WorkerTest, DestroyExecutorFreesTheDecoder) {
  ASSERT_OK_AND_ASSIGN(auto worker, Create());
  bool destroyed = false;
  decoder_->OnDestruction([&destroyed] { destroyed = true; });
  worker->DestroyExecutor();
  EXPECT_TRUE(destroyed);
}

TEST_F(CuaS1WorkerTest, RefusesATokenizerThatDoesNotFit) {
  qwen3_5::Config config = SmallConfig();
  config.vocab_size = 100;
  EXPECT_THAT(Create(config), StatusIs(kRefused, HasSubstr("vocab_size")));
}

TEST_F(CuaS1WorkerTest, RefusesATokenizerThatReadsPromptsOtherwise) {
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      ReadFile("tools/checkpoint/demo/tokenizer.json", 1 << 20));
  using Changes = std::vector<std::pair<std::string, std::string>>;
  const struct {
    const char* name;
    Changes changes;
    bool published;
    const char* message;
  } cases[] = {
      {"the pattern of older families, in which marks belong to no word",
       {{R"([\\p{L}\\p{M}]+)", R"(\\p{L}+)"}},
       false,
       "pattern is not Qwen3.5's"},
      {"no token that opens a turn",
       {{"<|im_start|>", "<|turn|>"}},
       false,
       "no token <|im_start|>"},
      {"no token that closes a turn",
       {{"<|im_end|>", "<|over|>"}},
       false,
       "no token <|im_end|>"},
      {"no token that opens a thought",
       {{"<think>", "<muse>"}},
       false,
       "no token <think>"},
      {"a space before every text",
       {{R"("add_prefix_space": false)", R"("add_prefix_space": true)"}},
       false,
       "letter A is 2 tokens"},
      {"letters in another place than the published ones",
       {{R"("!": 0,)", R"("!": 32,)"}, {R"("A": 32,)", R"("A": 0,)"}},
       true,
       "letter A is token 0; in the published model it is 32"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string changed = absl::StrReplaceAll(text, c.changes);
    ASSERT_NE(changed, text);
    ASSERT_OK_AND_ASSIGN(auto tokenizer, Tokenizer::FromJson(changed));
    FakeWeights weights = SmallEmbedding();
    EXPECT_THAT(
        CuaS1Worker::Create(
            c.published ? Identity() : TestIdentity(), std::move(tokenizer),
            std::make_unique<FakeDecoder>(c.published ? PublishedConfig()
                                                      : SmallConfig()),
            weights, {"cpu", "f32", 1}),
        StatusIs(kRefused, HasSubstr(c.message)));
  }
}

TEST_F(CuaS1WorkerTest, RefusesUntiedEmbeddings) {
  qwen3_5::Config config = SmallConfig();
  config.tie_word_embeddings = false;
  EXPECT_THAT(Create(config),
              StatusIs(kRefused, HasSubstr("tie_word_embeddings")));
}

}  // namespace
}  // namespace omni::cua_s1
