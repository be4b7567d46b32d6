#ifndef OMNI_WORKERS_CUA_S1_PROCESSOR_H_
#define OMNI_WORKERS_CUA_S1_PROCESSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/json/value.h"
#include "workers/cua_s1/identity.h"
#include "workers/model/tokenizer.h"

namespace omni::cua_s1 {

inline constexpr int kMaxQuestions = 64;
inline constexpr int kMaxPromptTokens = 16384;

// One question, ready for the executor.
struct PreparedQuestion {
  std::string id;
  std::vector<std::string> option_keys;  // In the order of the letters.
  std::vector<uint32_t> token_ids;       // 1 to max_prompt_tokens.
};

// Turns a System One request into prompts.
//
// Thread-safe.
class Processor {
 public:
  // `tokenizer` is not owned. `max_prompt_tokens` is at least 1.
  Processor(const Identity& identity, const Tokenizer& tokenizer,
            int max_prompt_tokens);

  // Validates the whole request, then renders and tokenizes every question, in
  // the order of the request.
  //
  // Errors: RequestError for the first broken rule, in the order: model, state,
  // questions, each question by itself, then the prompts. INTERNAL if the
  // tokenizer fails.
  absl::StatusOr<std::vector<PreparedQuestion>> Prepare(
      const json::Value& request) const;

 private:
  const Identity identity_;
  const Tokenizer& tokenizer_;
  const int max_prompt_tokens_;
};

}  // namespace omni::cua_s1

#endif  // OMNI_WORKERS_CUA_S1_PROCESSOR_H_
