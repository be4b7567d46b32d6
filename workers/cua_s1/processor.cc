#include "workers/cua_s1/processor.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/request_error.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/reader.h"
#include "runtime/json/render.h"
#include "workers/cua_s1/prompt.h"

namespace omni::cua_s1 {
namespace {

using v1::ErrorReason;

constexpr json::Dialect kDialect = json::Dialect::kStrict;

bool IsNumberOrBool(const json::Value& value) {
  return value.is_number() || value.is_bool();
}

bool IsEmptyContent(const json::Value& value) {
  return (value.is_string() && value.string().empty()) ||
         (value.is_array() && value.array().empty()) ||
         (value.is_object() && value.object().empty());
}

absl::Status QuestionError(ErrorReason::Value reason, const std::string& id,
                           std::string_view what, ErrorContext context = {}) {
  context.question = id;
  return RequestError(
      reason,
      absl::StrFormat("question \"%s\": %s", CutAtCharacter(id, 64), what),
      std::move(context));
}

absl::Status CheckModelName(const json::Value& request,
                            const Identity& identity) {
  const json::Value* model = request.Find("model");
  if (model != nullptr && model->is_string() &&
      model->string() == identity.request_model) {
    return absl::OkStatus();
  }
  return RequestError(
      ErrorReason::MODEL_MISMATCH,
      absl::StrFormat("`model` must be \"%s\"", identity.request_model));
}

absl::Status CheckState(const json::Value* state) {
  if (state != nullptr && IsEmptyContent(*state)) {
    return RequestError(ErrorReason::EMPTY_STATE, "`state` must not be empty");
  }
  if (state == nullptr || state->is_null() || IsNumberOrBool(*state)) {
    return RequestError(ErrorReason::BAD_STATE,
                        "`state` must be a string, an object or an array");
  }
  return absl::OkStatus();
}

absl::Status CheckQuestions(const json::Value* questions) {
  if (questions == nullptr || !questions->is_object() ||
      questions->object().empty()) {
    return RequestError(ErrorReason::BAD_QUESTIONS,
                        "`questions` must be an object with 1 to 64 entries");
  }
  const size_t count = questions->object().size();
  if (count > kMaxQuestions) {
    return RequestError(
        ErrorReason::TOO_MANY_QUESTIONS,
        absl::StrFormat("%d questions, over %d", count, kMaxQuestions),
        {.limit = kMaxQuestions, .actual = count});
  }
  return absl::OkStatus();
}

absl::Status CheckType(const std::string& id, const json::Value* type) {
  if (type != nullptr && type->is_string()) {
    if (type->string() == "choice") return absl::OkStatus();
    if (type->string() == "score" || type->string() == "noul") {
      return QuestionError(
          ErrorReason::TYPE_NOT_SUPPORTED, id,
          absl::StrFormat("type '%s' is not supported; this model answers "
                          "'choice'",
                          type->string()));
    }
  }
  return QuestionError(ErrorReason::UNKNOWN_TYPE, id,
                       "`type` must be \"choice\"");
}

absl::Status CheckCriteria(const std::string& id, const json::Value* criteria) {
  if (criteria == nullptr || !criteria->is_object()) {
    return QuestionError(ErrorReason::BAD_CRITERIA, id,
                         "`criteria` must be an object with 1 to 26 entries");
  }
  const size_t count = criteria->object().size();
  if (count < 1 || count > kMaxOptions) {
    return QuestionError(
        ErrorReason::BAD_CRITERIA, id,
        absl::StrFormat("`criteria` must have 1 to %d entries, has %d",
                        kMaxOptions, count),
        {.limit = kMaxOptions, .actual = count});
  }
  for (const auto& [key, value] : criteria->object()) {
    if (IsNumberOrBool(value)) {
      return QuestionError(ErrorReason::BAD_TEXT, id,
                           "a value in `criteria` must be a string, an object, "
                           "an array or null");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckQuestion(const std::string& id, const json::Value& question) {
  if (!question.is_object()) {
    return QuestionError(ErrorReason::BAD_QUESTION, id, "must be an object");
  }
  RETURN_IF_ERROR(CheckType(id, question.Find("type")));
  const json::Value* instructions = question.Find("instructions");
  if (instructions == nullptr) {
    return QuestionError(ErrorReason::MISSING_INSTRUCTIONS, id,
                         "`instructions` is missing; it may be null");
  }
  if (IsNumberOrBool(*instructions)) {
    return QuestionError(ErrorReason::BAD_TEXT, id,
                         "`instructions` must be a string, an object, an array "
                         "or null");
  }
  return CheckCriteria(id, question.Find("criteria"));
}

}  // namespace

Processor::Processor(const Identity& identity, const Tokenizer& tokenizer,
                     int max_prompt_tokens)
    : identity_(identity),
      tokenizer_(tokenizer),
      max_prompt_tokens_(max_prompt_tokens) {}

absl::StatusOr<std::vector<PreparedQuestion>> Processor::Prepare(
    const json::Value& request) const {
  RETURN_IF_ERROR(CheckModelName(request, identity_));
  const json::Value* state = request.Find("state");
  RETURN_IF_ERROR(CheckState(state));
  const json::Value* questions = request.Find("questions");
  RETURN_IF_ERROR(CheckQuestions(questions));
  for (const auto& [id, question] : questions->object()) {
    RETURN_IF_ERROR(CheckQuestion(id, question));
  }

  const std::string state_text = json::Render(*state, kDialect);
  std::vector<PreparedQuestion> prepared;
  prepared.reserve(questions->object().size());
  for (const auto& [id, question] : questions->object()) {
    PreparedQuestion& result = prepared.emplace_back();
    result.id = id;
    std::vector<std::string> labels;
    for (const auto& [key, value] : question.Find("criteria")->object()) {
      result.option_keys.push_back(key);
      labels.push_back(value.is_null() ? key : json::Render(value, kDialect));
    }
    const json::Value& instructions = *question.Find("instructions");
    const std::string goal = instructions.is_null()
                                 ? std::string()
                                 : json::Render(instructions, kDialect);
    absl::StatusOr<std::vector<uint32_t>> token_ids = tokenizer_.Encode(
        RenderPrompt(identity_.system_prompt, goal, state_text, labels), {});
    if (!token_ids.ok()) {
      return absl::InternalError(absl::StrFormat(
          "question \"%s\": tokenizer: %s", CutAtCharacter(id, 64),
          std::string(token_ids.status().message())));
    }
    result.token_ids = *std::move(token_ids);
    const size_t count = result.token_ids.size();
    if (count > static_cast<size_t>(max_prompt_tokens_)) {
      return QuestionError(ErrorReason::TOKENS_EXCEEDED, id,
                           absl::StrFormat("%d prompt tokens, over %d", count,
                                           max_prompt_tokens_),
                           {.limit = max_prompt_tokens_, .actual = count});
    }
  }
  return prepared;
}

}  // namespace omni::cua_s1
