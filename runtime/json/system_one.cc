#include "runtime/json/system_one.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/request_error.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/render.h"

namespace omni::json {
namespace {

// Containers of the JSON form around a piece of content: the request, then the
// questions, the question, and its criteria.
constexpr int kDepthOfState = 1;
constexpr int kDepthOfInstructions = 3;
constexpr int kDepthOfCriteria = 4;

// Turns one question, or the request around the questions, into its JSON form.
class ContentReader {
 public:
  // `question` is the id for errors; null for the request itself.
  ContentReader(Dialect dialect, const std::string* question)
      : dialect_(dialect), question_(question) {}

  absl::Status Error(v1::ErrorReason::Value reason,
                     std::string_view message) const {
    ErrorContext context;
    if (question_ != nullptr) context.question = *question_;
    return RequestError(reason, message, std::move(context));
  }

  // Adds a member unless the content is absent.
  absl::Status AddMember(const char* key, bool has, const v1::Content& content,
                         int depth, Object* object) const {
    if (!has || content.value_case() == v1::Content::VALUE_NOT_SET) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Value value, ReadContent(key, content, depth));
    object->emplace_back(key, std::move(value));
    return absl::OkStatus();
  }

  // `place` names the content in errors. Absent content is null.
  absl::StatusOr<Value> ReadContent(std::string_view place,
                                    const v1::Content& content,
                                    int depth) const {
    switch (content.value_case()) {
      case v1::Content::kText:
        return Value(content.text());
      case v1::Content::kRawJson: {
        absl::StatusOr<Value> value = Read(
            content.raw_json(), {.dialect = dialect_, .outer_depth = depth});
        if (value.ok()) return value;
        std::string message(place);
        absl::StrAppend(&message, ": ", value.status().message());
        return Error(ReasonOf(value.status()), message);
      }
      case v1::Content::kNull:
      case v1::Content::VALUE_NOT_SET:
        return Value();
    }
    return Value();
  }

 private:
  const Dialect dialect_;
  const std::string* const question_;
};

absl::StatusOr<Value> FromChoice(const v1::Choice& choice,
                                 const ContentReader& reader) {
  Object options;
  options.reserve(static_cast<size_t>(choice.options_size()));
  absl::flat_hash_set<absl::string_view> labels;
  for (const v1::Option& option : choice.options()) {
    const std::string place = absl::StrCat("option ", options.size());
    if (!labels.insert(option.label()).second) {
      return reader.Error(v1::ErrorReason::DUPLICATE_KEY,
                          place + " repeats a label");
    }
    ASSIGN_OR_RETURN(
        Value description,
        reader.ReadContent(place, option.description(), kDepthOfCriteria));
    options.emplace_back(option.label(), std::move(description));
  }
  return Value(std::move(options));
}

absl::StatusOr<Value> FromScore(const v1::Score& score,
                                const ContentReader& reader) {
  Array levels;
  levels.reserve(static_cast<size_t>(score.levels_size()));
  for (const v1::Content& content : score.levels()) {
    ASSIGN_OR_RETURN(Value level,
                     reader.ReadContent(absl::StrCat("level ", levels.size()),
                                        content, kDepthOfCriteria));
    levels.push_back(std::move(level));
  }
  return Value(std::move(levels));
}

absl::Status AddNoul(const v1::Noul& noul, const ContentReader& reader,
                     Object* question) {
  Object criteria;
  RETURN_IF_ERROR(reader.AddMember("true", noul.has_when_true(),
                                   noul.when_true(), kDepthOfCriteria,
                                   &criteria));
  RETURN_IF_ERROR(reader.AddMember("false", noul.has_when_false(),
                                   noul.when_false(), kDepthOfCriteria,
                                   &criteria));
  if (!criteria.empty()) {
    question->emplace_back("criteria", std::move(criteria));
  }
  Object labels;
  if (noul.has_label_false()) labels.emplace_back("false", noul.label_false());
  if (noul.has_label_true()) labels.emplace_back("true", noul.label_true());
  if (!labels.empty()) question->emplace_back("labels", std::move(labels));
  return absl::OkStatus();
}

absl::StatusOr<Value> FromQuestion(const v1::Question& question,
                                   Dialect dialect) {
  const ContentReader reader(dialect, &question.id());
  Object result;
  const auto add_type = [&](const char* type) {
    result.emplace_back("type", type);
  };
  switch (question.kind_case()) {
    case v1::Question::kChoice:
      add_type("choice");
      break;
    case v1::Question::kScore:
      add_type("score");
      break;
    case v1::Question::kNoul:
      add_type("noul");
      break;
    case v1::Question::KIND_NOT_SET:
      break;
  }
  RETURN_IF_ERROR(reader.AddMember("instructions", question.has_instructions(),
                                   question.instructions(),
                                   kDepthOfInstructions, &result));
  switch (question.kind_case()) {
    case v1::Question::kChoice: {
      ASSIGN_OR_RETURN(Value criteria, FromChoice(question.choice(), reader));
      result.emplace_back("criteria", std::move(criteria));
      break;
    }
    case v1::Question::kScore: {
      ASSIGN_OR_RETURN(Value criteria, FromScore(question.score(), reader));
      result.emplace_back("criteria", std::move(criteria));
      break;
    }
    case v1::Question::kNoul:
      RETURN_IF_ERROR(AddNoul(question.noul(), reader, &result));
      break;
    case v1::Question::KIND_NOT_SET:
      break;
  }
  return Value(std::move(result));
}

// What follows turns JSON into messages.

absl::Status Inexpressible(v1::ErrorReason::Value reason,
                           std::string_view message,
                           const std::string* question = nullptr) {
  ErrorContext context;
  if (question != nullptr) context.question = *question;
  return RequestError(reason, message, std::move(context));
}

// The member's value; null pointer if it is missing or null.
const Value* FindNotNull(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

absl::Status ToChoice(const Value* criteria, Dialect dialect,
                      const std::string& id, v1::Choice* choice) {
  if (criteria != nullptr && criteria->is_object()) {
    for (const auto& [label, description] : criteria->object()) {
      v1::Option* option = choice->add_options();
      option->set_label(label);
      *option->mutable_description() = ToContent(description);
    }
    return absl::OkStatus();
  }
  if (criteria != nullptr && criteria->is_array() &&
      dialect == Dialect::kLaya) {
    absl::flat_hash_set<absl::string_view> labels;
    for (const Value& label : criteria->array()) {
      if (!label.is_string()) {
        return Inexpressible(v1::ErrorReason::BAD_CRITERIA,
                             "an option in a list is no string", &id);
      }
      if (labels.insert(label.string()).second) {
        choice->add_options()->set_label(label.string());
      }
    }
    return absl::OkStatus();
  }
  return Inexpressible(v1::ErrorReason::BAD_CRITERIA,
                       "the criteria of a choice are no object", &id);
}

absl::Status ToScore(const Value* criteria, const std::string& id,
                     v1::Score* score) {
  if (criteria == nullptr || !criteria->is_array()) {
    return Inexpressible(v1::ErrorReason::BAD_CRITERIA,
                         "the criteria of a score are no array", &id);
  }
  for (const Value& level : criteria->array()) {
    *score->add_levels() = ToContent(level);
  }
  return absl::OkStatus();
}

absl::Status ToNoulCriteria(const Value& criteria, Dialect dialect,
                            const std::string& id, v1::Noul* noul) {
  if (!criteria.is_object()) {
    return Inexpressible(v1::ErrorReason::BAD_CRITERIA,
                         "the criteria of a noul are no object", &id);
  }
  // Open-Jev refuses them, absent ones it takes.
  if (criteria.object().empty() && dialect == Dialect::kStrict) {
    return Inexpressible(v1::ErrorReason::BAD_CRITERIA,
                         "the criteria of a noul are empty", &id);
  }
  for (const auto& [key, meaning] : criteria.object()) {
    const std::string name =
        dialect == Dialect::kLaya ? absl::AsciiStrToLower(key) : key;
    if (name == "true" && !noul->has_when_true()) {
      *noul->mutable_when_true() = ToContent(meaning);
    } else if (name == "false" && !noul->has_when_false()) {
      *noul->mutable_when_false() = ToContent(meaning);
    } else {
      return Inexpressible(v1::ErrorReason::BAD_CRITERIA,
                           "the criteria of a noul have a key that is not "
                           "\"true\" or \"false\", or one twice",
                           &id);
    }
  }
  return absl::OkStatus();
}

absl::Status ToNoulLabels(const Value& labels, const std::string& id,
                          v1::Noul* noul) {
  if (labels.is_object() && labels.object().size() == 2) {
    const Value* label_false = labels.Find("false");
    const Value* label_true = labels.Find("true");
    if (label_false != nullptr && label_false->is_string() &&
        label_true != nullptr && label_true->is_string()) {
      noul->set_label_false(label_false->string());
      noul->set_label_true(label_true->string());
      return absl::OkStatus();
    }
  }
  return Inexpressible(v1::ErrorReason::BAD_QUESTION,
                       "labels are no object of two strings", &id);
}

absl::Status ToQuestion(const Value& value, Dialect dialect,
                        v1::Question* question) {
  const std::string& id = question->id();
  if (!value.is_object()) {
    return Inexpressible(v1::ErrorReason::BAD_QUESTION,
                         "a question is no object", &id);
  }
  const Value* instructions = value.Find("instructions");
  if (instructions != nullptr) {
    *question->mutable_instructions() = ToContent(*instructions);
  }
  const Value* labels =
      dialect == Dialect::kLaya ? value.Find("labels") : nullptr;
  const Value* criteria = FindNotNull(value, "criteria");
  const Value* type = value.Find("type");
  if (type == nullptr && criteria == nullptr && labels == nullptr) {
    return absl::OkStatus();
  }
  if (type != nullptr && *type == Value("noul")) {
    v1::Noul* noul = question->mutable_noul();
    if (criteria != nullptr) {
      RETURN_IF_ERROR(ToNoulCriteria(*criteria, dialect, id, noul));
    }
    if (labels != nullptr && !labels->is_null()) {
      RETURN_IF_ERROR(ToNoulLabels(*labels, id, noul));
    }
    return absl::OkStatus();
  }
  if (labels != nullptr) {
    return Inexpressible(v1::ErrorReason::BAD_QUESTION,
                         "labels belong to a noul", &id);
  }
  if (type != nullptr && *type == Value("choice")) {
    return ToChoice(criteria, dialect, id, question->mutable_choice());
  }
  if (type != nullptr && *type == Value("score")) {
    return ToScore(criteria, id, question->mutable_score());
  }
  return Inexpressible(v1::ErrorReason::UNKNOWN_TYPE,
                       "a question's type is not choice, score or noul", &id);
}

// What follows writes responses.

// Writes an object member by member; closes it when it goes out of scope.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string* out) : out_(out) { out_->push_back('{'); }
  ~ObjectWriter() { out_->push_back('}'); }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // Starts a member; its value is to be appended next.
  void Key(std::string_view key) {
    if (!is_empty_) out_->append(", ");
    is_empty_ = false;
    WriteString(key);
    out_->append(": ");
  }

  void String(std::string_view key, std::string_view value) {
    Key(key);
    WriteString(value);
  }
  void Double(std::string_view key, double value) {
    Key(key);
    out_->append(PythonRepr(value));
  }
  void Count(std::string_view key, uint64_t value) {
    Key(key);
    absl::StrAppend(out_, value);
  }
  void Raw(std::string_view key, std::string_view json) {
    Key(key);
    out_->append(json);
  }

 private:
  void WriteString(std::string_view text) {
    absl::StrAppend(out_, "\"", Escape(text), "\"");
  }

  std::string* const out_;
  bool is_empty_ = true;
};

void WriteLegend(const v1::ScoreAnswer& score, std::string* out) {
  ObjectWriter legend(out);
  for (int i = 0; i < score.legend_size(); ++i) {
    const std::string key = absl::StrCat(i);
    const v1::Content& level = score.legend(i);
    switch (level.value_case()) {
      case v1::Content::kText:
        legend.String(key, level.text());
        break;
      case v1::Content::kRawJson:
        legend.Raw(key, level.raw_json());
        break;
      case v1::Content::kNull:
      case v1::Content::VALUE_NOT_SET:
        legend.Raw(key, "null");
        break;
    }
  }
}

template <typename Kind>
void WriteDistribution(const Kind& kind, ObjectWriter* answer,
                       std::string* out) {
  answer->Key("probabilities");
  {
    ObjectWriter probabilities(out);
    for (const v1::Probability& p : kind.probabilities()) {
      probabilities.Double(p.key(), p.value());
    }
  }
  answer->Double("confidence", kind.confidence());
}

void WriteAnswer(const v1::Answer& answer, std::string* out) {
  ObjectWriter object(out);
  switch (answer.kind_case()) {
    case v1::Answer::kChoice:
      object.String("type", "choice");
      object.String("choice", answer.choice().choice());
      WriteDistribution(answer.choice(), &object, out);
      break;
    case v1::Answer::kScore:
      object.String("type", "score");
      object.Double("score", answer.score().score());
      WriteDistribution(answer.score(), &object, out);
      object.Key("legend");
      WriteLegend(answer.score(), out);
      break;
    case v1::Answer::kNoul:
      object.String("type", "noul");
      object.Double("noul", answer.noul().noul());
      if (answer.noul().has_confidence()) {
        object.Double("confidence", answer.noul().confidence());
      }
      break;
    case v1::Answer::KIND_NOT_SET:
      break;
  }
  if (answer.has_answer_confidence()) {
    object.Double("answer_confidence", answer.answer_confidence());
  }
  if (answer.has_act_probability()) {
    object.Key("action");
    ObjectWriter(out).Double("act_probability", answer.act_probability());
  }
}

void WriteOpenJev(const v1::OpenJevMetadata& metadata, std::string* out) {
  ObjectWriter object(out);
  object.String("method", metadata.method());
  object.Double("temperature", metadata.temperature());
  object.Count("candidate_sequences", metadata.candidate_sequences());
  object.Double("inference_seconds", metadata.inference_seconds());
  object.String("base_revision", metadata.base_revision());
  object.Count("max_length", metadata.max_length());
  object.Key("prefix_cache");
  const v1::PrefixCache& cache = metadata.prefix_cache();
  ObjectWriter prefix_cache(out);
  prefix_cache.Raw("enabled", cache.enabled() ? "true" : "false");
  prefix_cache.String("mode", cache.mode());
  prefix_cache.Count("requested_tokens", cache.requested_tokens());
  prefix_cache.Count("computed_tokens", cache.computed_tokens());
  prefix_cache.Count("reused_tokens", cache.reused_tokens());
}

void WriteLaya(const v1::LayaRouting& routing, std::string* out) {
  ObjectWriter object(out);
  object.String("model", routing.model());
  object.String("repo", routing.repo());
  object.String("reason", routing.reason());
  // Profiles are chosen by name alone.
  object.Raw("detection", "null");
  object.Raw("workflow", "null");
}

}  // namespace

absl::StatusOr<Value> FromRequest(const v1::DecideRequest& request,
                                  Dialect dialect) {
  const ContentReader reader(dialect, nullptr);
  Object result;
  if (request.has_model()) result.emplace_back("model", request.model());
  RETURN_IF_ERROR(reader.AddMember("state", request.has_state(),
                                   request.state(), kDepthOfState, &result));
  Object questions;
  questions.reserve(static_cast<size_t>(request.questions_size()));
  absl::flat_hash_set<absl::string_view> ids;
  for (const v1::Question& question : request.questions()) {
    if (!ids.insert(question.id()).second) {
      return RequestError(v1::ErrorReason::DUPLICATE_KEY,
                          "a question id is repeated",
                          {.question = question.id()});
    }
    ASSIGN_OR_RETURN(Value value, FromQuestion(question, dialect));
    questions.emplace_back(question.id(), std::move(value));
  }
  result.emplace_back("questions", std::move(questions));
  if (request.has_lang()) result.emplace_back("lang", request.lang());
  return Value(std::move(result));
}

absl::StatusOr<v1::DecideRequest> ToRequest(const Value& request,
                                            Dialect dialect) {
  if (!request.is_object()) {
    return Inexpressible(v1::ErrorReason::MALFORMED_JSON,
                         "the request is no object");
  }
  v1::DecideRequest result;
  if (const Value* model = FindNotNull(request, "model")) {
    if (!model->is_string()) {
      return Inexpressible(v1::ErrorReason::MODEL_MISMATCH,
                           "the model is no string");
    }
    result.set_model(model->string());
  }
  if (const Value* state = request.Find("state")) {
    *result.mutable_state() = ToContent(*state);
  }
  const Value* questions = request.Find("questions");
  if (questions == nullptr || !questions->is_object()) {
    return Inexpressible(v1::ErrorReason::BAD_QUESTIONS,
                         "the questions are missing or no object");
  }
  for (const auto& [id, value] : questions->object()) {
    v1::Question* question = result.add_questions();
    question->set_id(id);
    RETURN_IF_ERROR(ToQuestion(value, dialect, question));
  }
  if (dialect == Dialect::kLaya) {
    if (const Value* lang = FindNotNull(request, "lang")) {
      if (!lang->is_string()) {
        return Inexpressible(v1::ErrorReason::LANGUAGE_NOT_SUPPORTED,
                             "the language is no string");
      }
      result.set_lang(lang->string());
    }
    for (const auto& [key, value] : request.object()) {
      if (key != "model" && key != "state" && key != "questions" &&
          key != "lang") {
        return Inexpressible(v1::ErrorReason::UNKNOWN_FIELD,
                             "the request has an unknown field");
      }
    }
  }
  return result;
}

v1::Content ToContent(const Value& value) {
  v1::Content content;
  if (value.is_string()) {
    content.set_text(value.string());
  } else if (value.is_null()) {
    content.mutable_null();
  } else {
    content.set_raw_json(DumpVerbatim(value));
  }
  return content;
}

std::string WriteResponse(const v1::DecideResponse& response) {
  std::string out;
  {
    ObjectWriter object(&out);
    object.String("model", response.model());
    object.Key("answers");
    {
      ObjectWriter answers(&out);
      for (const v1::Answer& answer : response.answers()) {
        answers.Key(answer.id());
        WriteAnswer(answer, &out);
      }
    }
    object.Key("usage");
    {
      ObjectWriter usage(&out);
      usage.Count("input_tokens", response.usage().input_tokens());
      usage.Count("output_tokens", response.usage().output_tokens());
    }
    switch (response.metadata_case()) {
      case v1::DecideResponse::kOpenJev:
        object.Key("metadata");
        WriteOpenJev(response.open_jev(), &out);
        break;
      case v1::DecideResponse::kLaya:
        object.Key("routing");
        WriteLaya(response.laya(), &out);
        break;
      case v1::DecideResponse::METADATA_NOT_SET:
        break;
    }
  }
  return out;
}

}  // namespace omni::json
