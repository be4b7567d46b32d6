#ifndef OMNI_WORKERS_CUA_S1_PROMPT_H_
#define OMNI_WORKERS_CUA_S1_PROMPT_H_

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace omni::cua_s1 {

// Options of one question: the letters A to Z.
inline constexpr int kMaxOptions = 26;

// The text that the model reads for one question, up to and including the line
// break after the opening think tag. `goal` may be empty: then it has no line.
// `labels` are in the order of the letters, at most kMaxOptions; they are
// escaped here. The format is the training data's and must match byte for
// byte (trycua/cua, MIT; see NOTICE).
std::string RenderPrompt(std::string_view system_prompt, std::string_view goal,
                         std::string_view state,
                         absl::Span<const std::string> labels);

}  // namespace omni::cua_s1

#endif  // OMNI_WORKERS_CUA_S1_PROMPT_H_
