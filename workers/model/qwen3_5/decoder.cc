#include "workers/model/qwen3_5/decoder.h"

#include "absl/strings/str_format.h"

namespace omni::qwen3_5 {

absl::Status CheckPlan(const Plan& plan, const Config& config) {
  if (plan.sequences.empty()) {
    return absl::InvalidArgumentError("The plan has no sequence");
  }
  for (size_t i = 0; i < plan.sequences.size(); ++i) {
    const std::vector<uint32_t>& sequence = plan.sequences[i];
    if (sequence.empty()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("Sequence %d of the plan has no token", i));
    }
    if (sequence.size() > static_cast<size_t>(config.max_position_embeddings)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "Sequence %d of the plan has %d tokens; the model takes at most %d",
          i, sequence.size(), config.max_position_embeddings));
    }
    for (const uint32_t id : sequence) {
      if (id >= static_cast<uint32_t>(config.vocab_size)) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "Sequence %d of the plan holds the token id %d; the model has %d "
            "embedding rows",
            i, id, config.vocab_size));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace omni::qwen3_5
