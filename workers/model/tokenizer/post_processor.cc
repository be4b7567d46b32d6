#include "workers/model/tokenizer/post_processor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"

namespace omni::tokenizer {
namespace {

// The id of a member such as `"cls": ["[CLS]", 101]`.
absl::StatusOr<uint32_t> ReadTokenAndId(const Fields& fields,
                                        std::string_view key) {
  ASSIGN_OR_RETURN(const json::Array* const pair, fields.Array(key));
  if (pair->size() != 2) {
    return fields.Error(
        absl::StrFormat("\"%s\" must be a token and its id", key));
  }
  return ReadId((*pair)[1], absl::StrFormat("%s.%s", fields.where(), key));
}

}  // namespace

absl::StatusOr<PostProcessor> PostProcessor::FromJson(
    const json::Value* section) {
  PostProcessor result;
  if (section != nullptr) {
    RETURN_IF_ERROR(result.Append(*section, "post_processor"));
  }
  return result;
}

absl::Status PostProcessor::Append(const json::Value& section,
                                   const std::string& where) {
  ASSIGN_OR_RETURN(const Fields fields, Fields::Of(section, where));
  ASSIGN_OR_RETURN(const std::string type, fields.String("type"));
  if (type == "ByteLevel") return absl::OkStatus();
  if (type == "TemplateProcessing") {
    return AppendTemplate(section, where);
  }
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    ASSIGN_OR_RETURN(const uint32_t before, ReadTokenAndId(fields, "cls"));
    ASSIGN_OR_RETURN(const uint32_t after, ReadTokenAndId(fields, "sep"));
    return Add(fields, {before}, {after});
  }
  if (type == "Sequence") {
    ASSIGN_OR_RETURN(const json::Array* const parts,
                     fields.Array("processors"));
    for (size_t i = 0; i < parts->size(); ++i) {
      RETURN_IF_ERROR(
          Append((*parts)[i], absl::StrFormat("%s.processors[%d]", where, i)));
    }
    return absl::OkStatus();
  }
  return fields.Error(absl::StrFormat("type \"%s\" is not served", type));
}

absl::Status PostProcessor::AppendTemplate(const json::Value& section,
                                           const std::string& where) {
  ASSIGN_OR_RETURN(const Fields fields, Fields::Of(section, where));
  ASSIGN_OR_RETURN(const json::Array* const parts, fields.Array("single"));
  const json::Value* const tokens = fields.Find("special_tokens");
  std::vector<uint32_t> before;
  std::vector<uint32_t> after;
  bool has_text = false;
  for (const json::Value& part : *parts) {
    ASSIGN_OR_RETURN(const Fields kinds, Fields::Of(part, where + ".single"));
    if (const json::Value* const text = kinds.Find("Sequence")) {
      ASSIGN_OR_RETURN(const Fields names, Fields::Of(*text, kinds.where()));
      ASSIGN_OR_RETURN(const std::string name, names.String("id"));
      if (name != "A" || has_text) {
        return kinds.Error("must hold the sequence A once");
      }
      has_text = true;
      continue;
    }
    const json::Value* const special = kinds.Find("SpecialToken");
    if (special == nullptr || tokens == nullptr) {
      return kinds.Error("must be made of Sequence and SpecialToken");
    }
    ASSIGN_OR_RETURN(const Fields names, Fields::Of(*special, kinds.where()));
    ASSIGN_OR_RETURN(const std::string name, names.String("id"));
    const json::Value* const token = tokens->Find(name);
    if (token == nullptr) {
      return fields.Error(
          absl::StrFormat("\"%s\" is not among its special_tokens", name));
    }
    ASSIGN_OR_RETURN(const Fields entry,
                     Fields::Of(*token, where + ".special_tokens"));
    ASSIGN_OR_RETURN(const json::Array* const ids, entry.Array("ids"));
    for (const json::Value& value : *ids) {
      ASSIGN_OR_RETURN(const uint32_t id, ReadId(value, entry.where()));
      (has_text ? after : before).push_back(id);
    }
  }
  if (!has_text) return fields.Error("\"single\" lacks the sequence A");
  return Add(fields, std::move(before), std::move(after));
}

absl::Status PostProcessor::Add(const Fields& fields,
                                std::vector<uint32_t> before,
                                std::vector<uint32_t> after) {
  if (!before_.empty() || !after_.empty()) {
    return fields.Error("a second part that adds tokens is not served");
  }
  before_ = std::move(before);
  after_ = std::move(after);
  return absl::OkStatus();
}

std::vector<uint32_t> PostProcessor::Process(std::vector<uint32_t> ids) const {
  ids.insert(ids.begin(), before_.begin(), before_.end());
  ids.insert(ids.end(), after_.begin(), after_.end());
  return ids;
}

uint32_t PostProcessor::size() const {
  uint32_t size = 0;
  for (const uint32_t id : before_) size = std::max(size, id + 1);
  for (const uint32_t id : after_) size = std::max(size, id + 1);
  return size;
}

}  // namespace omni::tokenizer
