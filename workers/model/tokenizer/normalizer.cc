#include "workers/model/tokenizer/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "workers/model/tokenizer/fields.h"
#include "workers/model/tokenizer/unicode.h"

namespace omni::tokenizer {
namespace {

absl::Status IcuError(UErrorCode code) {
  return absl::InternalError(
      absl::StrFormat("Unicode normalization: %s", u_errorName(code)));
}

}  // namespace

absl::StatusOr<Normalizer> Normalizer::FromJson(const json::Value* section) {
  Normalizer normalizer;
  if (section != nullptr) {
    RETURN_IF_ERROR(Append(*section, "normalizer", &normalizer.forms_));
  }
  return normalizer;
}

absl::Status Normalizer::Append(const json::Value& section, std::string where,
                                std::vector<Form>* forms) {
  ASSIGN_OR_RETURN(const Fields fields, Fields::Of(section, std::move(where)));
  ASSIGN_OR_RETURN(const std::string type, fields.String("type"));
  if (type == "NFC") {
    forms->push_back(Form::kNfc);
  } else if (type == "NFD") {
    forms->push_back(Form::kNfd);
  } else if (type == "NFKC") {
    forms->push_back(Form::kNfkc);
  } else if (type == "NFKD") {
    forms->push_back(Form::kNfkd);
  } else if (type == "Sequence") {
    ASSIGN_OR_RETURN(const json::Array* const parts,
                     fields.Array("normalizers"));
    for (size_t i = 0; i < parts->size(); ++i) {
      RETURN_IF_ERROR(Append(
          (*parts)[i], absl::StrFormat("%s.normalizers[%d]", fields.where(), i),
          forms));
    }
  } else {
    return fields.Error(absl::StrFormat("type \"%s\" is not served", type));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Normalizer::Normalize(std::string_view text) const {
  std::string result(text);
  // No form changes ASCII.
  if (IsAscii(text)) return result;
  for (const Form form : forms_) {
    ASSIGN_OR_RETURN(result, Apply(form, std::move(result)));
  }
  return result;
}

absl::StatusOr<std::string> Normalizer::Apply(Form form, std::string text) {
  UErrorCode code = U_ZERO_ERROR;
  const icu::Normalizer2* rules = nullptr;
  switch (form) {
    case Form::kNfc:
      rules = icu::Normalizer2::getNFCInstance(code);
      break;
    case Form::kNfd:
      rules = icu::Normalizer2::getNFDInstance(code);
      break;
    case Form::kNfkc:
      rules = icu::Normalizer2::getNFKCInstance(code);
      break;
    case Form::kNfkd:
      rules = icu::Normalizer2::getNFKDInstance(code);
      break;
  }
  if (U_FAILURE(code)) return IcuError(code);
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  // Most texts are in their form already and need no second copy.
  const bool done = rules->isNormalizedUTF8(piece, code) != 0;
  if (U_FAILURE(code)) return IcuError(code);
  if (done) return text;
  std::string result;
  icu::StringByteSink<std::string> sink(&result, piece.length());
  rules->normalizeUTF8(0, piece, sink, nullptr, code);
  if (U_FAILURE(code)) return IcuError(code);
  return result;
}

}  // namespace omni::tokenizer
