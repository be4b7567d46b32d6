#ifndef OMNI_WORKERS_MODEL_TOKENIZER_POST_PROCESSOR_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_POST_PROCESSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/json/value.h"
#include "workers/model/tokenizer/fields.h"

namespace omni::tokenizer {

// The `post_processor` section: the special tokens around a single text.
//
// Serves ByteLevel (which changes no ids), TemplateProcessing,
// RobertaProcessing, BertProcessing and a Sequence in which at most one part
// adds tokens. Templates for pairs of texts are not read. Thread-safe.
class PostProcessor {
 public:
  // `section` is a null pointer where the file has none: nothing is added.
  //
  // Errors: INVALID_ARGUMENT naming what is not served.
  static absl::StatusOr<PostProcessor> FromJson(const json::Value* section);

  // The ids of one text with its special tokens.
  std::vector<uint32_t> Process(std::vector<uint32_t> ids) const;

  // Largest id that it adds plus one; 0 if it adds none.
  uint32_t size() const;

 private:
  absl::Status Append(const json::Value& section, const std::string& where);
  absl::Status AppendTemplate(const json::Value& section,
                              const std::string& where);
  absl::Status Add(const Fields& fields, std::vector<uint32_t> before,
                   std::vector<uint32_t> after);

  std::vector<uint32_t> before_;
  std::vector<uint32_t> after_;
};

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_POST_PROCESSOR_H_
