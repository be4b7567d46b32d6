#ifndef OMNI_WORKERS_MODEL_QWEN3_5_TENSORS_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_TENSORS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/weights.h"

namespace omni::qwen3_5 {

// One tensor that a Qwen3.5 text model needs.
struct TensorSpec {
  std::string name;  // Without the checkpoint's prefix.
  std::vector<int64_t> shape;
};

// All tensors of the text model, every one of them needed: the embedding, then
// each layer (its mixer, its two norms, its MLP), then the final norm. The
// order is that in which test weights are numbered.
std::vector<TensorSpec> TextTensors(const Config& config);

// "layers.3." for 3; what the names of a layer's tensors begin with after the
// checkpoint's prefix.
std::string LayerPrefix(int layer);

// What the names of the text model's tensors begin with in this checkpoint:
// the first of "model.language_model.", "model." and "" under which there is an
// embedding. Tensors outside it belong to other parts of the file (vision,
// multi-token prediction, output layer) and are not for the text model.
//
// Errors: NOT_FOUND that lists the names looked for.
absl::StatusOr<std::string> ResolvePrefix(const WeightSource& source);

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_TENSORS_H_
