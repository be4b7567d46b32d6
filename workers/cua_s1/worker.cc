#include "workers/cua_s1/worker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/render.h"
#include "workers/cua_s1/prompt.h"
#include "workers/cua_s1/readout.h"
#include "workers/model/qwen3_5/split_pattern.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni::cua_s1 {
namespace {

constexpr uint32_t kPublishedFirstLetter = 32;

absl::Status CheckTokenizer(const Tokenizer& tokenizer,
                            const qwen3_5::Config& config) {
  if (tokenizer.split_pattern() != qwen3_5::kSplitPattern) {
    return absl::FailedPreconditionError(
        "tokenizer.json: the pre-tokenizer's pattern is not Qwen3.5's; token "
        "ids would differ from those of the training data");
  }
  if (tokenizer.vocabulary_size() > static_cast<uint32_t>(config.vocab_size)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "tokenizer.json: ids up to %d, but config.json has a vocab_size of %d",
        tokenizer.vocabulary_size() - 1, config.vocab_size));
  }
  for (const char* token : {"<|im_start|>", "<|im_end|>", "<think>"}) {
    if (!tokenizer.TokenId(token).has_value()) {
      return absl::FailedPreconditionError(
          absl::StrFormat("tokenizer.json: has no token %s", token));
    }
  }
  return absl::OkStatus();
}

// The ids of A to Z.
absl::StatusOr<std::vector<uint32_t>> FindLetters(const Tokenizer& tokenizer,
                                                  bool published) {
  std::vector<uint32_t> letters;
  for (char letter = 'A'; letter <= 'Z'; ++letter) {
    ASSIGN_OR_RETURN(const std::vector<uint32_t> ids,
                     tokenizer.Encode(std::string(1, letter), {}));
    if (ids.size() != 1) {
      return absl::FailedPreconditionError(
          absl::StrFormat("tokenizer.json: letter %c is %d tokens, must be one",
                          letter, ids.size()));
    }
    const uint32_t known = kPublishedFirstLetter + letters.size();
    if (published && ids[0] != known) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "tokenizer.json: letter %c is token %d; in the published model it is "
          "%d",
          letter, ids[0], known));
    }
    letters.push_back(ids[0]);
  }
  return letters;
}

absl::StatusOr<std::vector<std::vector<float>>> ReadLetterRows(
    absl::Span<const uint32_t> letters, const qwen3_5::Config& config,
    WeightSource& weights) {
  ASSIGN_OR_RETURN(const std::string prefix, qwen3_5::ResolvePrefix(weights));
  std::vector<std::vector<float>> rows;
  for (const uint32_t id : letters) {
    std::vector<float>& row = rows.emplace_back(config.hidden_size);
    RETURN_IF_ERROR(weights.ReadRows(prefix + "embed_tokens.weight", id, 1,
                                     absl::MakeSpan(row)));
  }
  return rows;
}

}  // namespace

// Runs the questions one by one; an error in one ends the request.
class CuaS1Worker::ChoiceDecision : public Decision {
 public:
  ChoiceDecision(CuaS1Worker* worker, std::vector<PreparedQuestion> questions)
      : worker_(worker), questions_(std::move(questions)) {}

  Unit NextUnit() override {
    const size_t next = answers_.size();
    if (next == questions_.size()) return nullptr;
    qwen3_5::Plan plan;
    input_tokens_ += questions_[next].token_ids.size();
    plan.sequences.push_back(std::move(questions_[next].token_ids));
    // The worker outlives its units; everything else travels with the unit.
    return [worker = worker_, plan = std::move(plan)] {
      return worker->decoder_->Forward(plan);
    };
  }

  absl::Status Accept(Rows rows) override {
    if (rows.size() != 1) {
      return absl::InternalError(
          absl::StrFormat("%d rows for one question", rows.size()));
    }
    const PreparedQuestion& question = questions_[answers_.size()];
    ASSIGN_OR_RETURN(
        const std::vector<float> logits,
        ProjectLetters(worker_->letter_rows_, rows.front(),
                       static_cast<int>(question.option_keys.size())));
    ASSIGN_OR_RETURN(answers_.emplace_back(),
                     AnswerChoice(question.option_keys, logits));
    return absl::OkStatus();
  }

  absl::StatusOr<v1::DecideResponse> Finish() override {
    if (answers_.size() != questions_.size()) {
      return absl::InternalError(absl::StrFormat(
          "%d answers for %d questions", answers_.size(), questions_.size()));
    }
    v1::DecideResponse response;
    response.set_model(worker_->identity_.response_model);
    for (size_t i = 0; i < questions_.size(); ++i) {
      v1::Answer* answer = response.add_answers();
      answer->set_id(questions_[i].id);
      *answer->mutable_choice() = std::move(answers_[i]);
    }
    response.mutable_usage()->set_input_tokens(input_tokens_);
    return response;
  }

 private:
  CuaS1Worker* const worker_;
  std::vector<PreparedQuestion> questions_;
  std::vector<v1::ChoiceAnswer> answers_;  // Of the questions that have run.
  uint32_t input_tokens_ = 0;
};

absl::StatusOr<std::unique_ptr<CuaS1Worker>> CuaS1Worker::Create(
    Identity identity, std::unique_ptr<const Tokenizer> tokenizer,
    std::unique_ptr<qwen3_5::Decoder> decoder, WeightSource& weights,
    Device device) {
  const qwen3_5::Config& config = decoder->config();
  RETURN_IF_ERROR(CheckModel(identity, config));
  RETURN_IF_ERROR(CheckTokenizer(*tokenizer, config));
  ASSIGN_OR_RETURN(const std::vector<uint32_t> letters,
                   FindLetters(*tokenizer, identity.published));
  ASSIGN_OR_RETURN(std::vector<std::vector<float>> letter_rows,
                   ReadLetterRows(letters, config, weights));
  return std::unique_ptr<CuaS1Worker>(new CuaS1Worker(
      std::move(identity), std::move(tokenizer), std::move(decoder),
      std::move(letter_rows), std::move(device)));
}

CuaS1Worker::CuaS1Worker(Identity identity,
                         std::unique_ptr<const Tokenizer> tokenizer,
                         std::unique_ptr<qwen3_5::Decoder> decoder,
                         std::vector<std::vector<float>> letter_rows,
                         Device device)
    : identity_(std::move(identity)),
      device_(std::move(device)),
      max_prompt_tokens_(std::min(kMaxPromptTokens,
                                  decoder->config().max_position_embeddings)),
      tokenizer_(std::move(tokenizer)),
      processor_(identity_, *tokenizer_, max_prompt_tokens_),
      letter_rows_(std::move(letter_rows)),
      decoder_(std::move(decoder)) {}

v1::WorkerInfo CuaS1Worker::Info() const {
  v1::WorkerInfo info;
  info.set_model(identity_.response_model);
  info.add_request_models(identity_.request_model);
  info.set_revision(identity_.revision);
  info.set_notice(identity_.notice);
  info.add_question_types(v1::QUESTION_TYPE_CHOICE);
  v1::Limits& limits = *info.mutable_limits();
  limits.set_min_questions(1);
  limits.set_max_questions(kMaxQuestions);
  limits.set_min_options(1);
  limits.set_max_options(kMaxOptions);
  limits.set_max_prompt_tokens(max_prompt_tokens_);
  info.set_device(device_.name);
  info.set_precision(device_.precision);
  info.set_threads(device_.threads);
  info.set_confidence_kind("entropy");
  return info;
}

absl::StatusOr<std::unique_ptr<Decision>> CuaS1Worker::Prepare(
    const json::Value& request) {
  ASSIGN_OR_RETURN(std::vector<PreparedQuestion> questions,
                   processor_.Prepare(request));
  return std::make_unique<ChoiceDecision>(this, std::move(questions));
}

std::string CuaS1Worker::WarmUpBody() const {
  using json::Object;
  return json::Dump(
      Object{
          {"model", identity_.request_model},
          {"state", "The service is starting."},
          {"questions",
           Object{
               {"ready", Object{{"type", "choice"},
                                {"instructions", "Is the service ready?"},
                                {"criteria", Object{{"yes", json::Value()},
                                                    {"no", json::Value()}}}}}}},
      },
      dialect());
}

}  // namespace omni::cua_s1
