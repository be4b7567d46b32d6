#ifndef OMNI_WORKERS_MODEL_QWEN3_5_SPLIT_PATTERN_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_SPLIT_PATTERN_H_

#include <string_view>

namespace omni::qwen3_5 {

// How Qwen3.5's tokenizer.json cuts text into words. Re-exports with the
// pattern of older families exist; they have the same vocabulary, but give
// other ids for text with combining marks.
inline constexpr std::string_view kSplitPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|)"
    R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|)"
    R"(\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|)"
    R"(\s+(?!\S)|)"
    R"(\s+)";

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_SPLIT_PATTERN_H_
