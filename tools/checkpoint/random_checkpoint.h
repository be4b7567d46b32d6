#ifndef OMNI_TOOLS_CHECKPOINT_RANDOM_CHECKPOINT_H_
#define OMNI_TOOLS_CHECKPOINT_RANDOM_CHECKPOINT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace omni {

// Writes a checkpoint folder with random weights: config.json, tokenizer.json
// (the demo's), model.safetensors (BF16) and the marker cua_s1_export.json,
// whose names and notice say that the model is untrained. The Cua-S1 worker
// serves it if the shape's embedding is tied; those of qwen3.5-9b and
// qwen3.5-27b are not, so that it refuses these two.
//
// Shape and seed alone decide every byte, as far as the program is built for
// the x86-64 baseline: with fused multiply-add, or elsewhere, the compiler may
// round some values otherwise.
//
// Weights are scaled so that each layer changes the residual stream by about
// its own size and so that letters get clearly different logits. Tensors are
// written block by block; memory does not grow with the shape. An output layer
// of its own is not written, also where the published size has one.
//
// Errors: INVALID_ARGUMENT for an unknown shape, UNKNOWN if a file cannot be
// written. Files that exist are replaced.
absl::Status WriteRandomCheckpoint(const std::string& shape, uint64_t seed,
                                   const std::string& folder);

}  // namespace omni

#endif  // OMNI_TOOLS_CHECKPOINT_RANDOM_CHECKPOINT_H_
