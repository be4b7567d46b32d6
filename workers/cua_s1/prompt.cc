#include "workers/cua_s1/prompt.h"

#include <cstddef>

#include "runtime/json/render.h"

namespace omni::cua_s1 {

std::string RenderPrompt(std::string_view system_prompt, std::string_view goal,
                         std::string_view state,
                         absl::Span<const std::string> labels) {
  std::string prompt = "<|im_start|>system\n";
  prompt += system_prompt;
  prompt += "<|im_end|>\n<|im_start|>user\n";
  if (!goal.empty()) {
    prompt += "Goal: ";
    prompt += goal;
    prompt += "\n\n";
  }
  prompt +=
      "App: Cua Driver\n"
      "Task family: closed-candidate decision\n"
      "\n"
      "Accessibility tree:\n";
  prompt += state;
  prompt += "\n\nOptions:\n";
  for (size_t i = 0; i < labels.size(); ++i) {
    prompt += static_cast<char>('A' + i);
    prompt += ". Decision \"";
    prompt += json::Escape(labels[i]);
    prompt += "\" -> select\n";
  }
  prompt +=
      "\n"
      "Answer with a single letter.<|im_end|>\n"
      "<|im_start|>assistant\n"
      "<think>\n";
  return prompt;
}

}  // namespace omni::cua_s1
