#ifndef OMNI_TOOLS_CHECKPOINT_SHAPES_H_
#define OMNI_TOOLS_CHECKPOINT_SHAPES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "workers/model/qwen3_5/config.h"

namespace omni {

// "demo" and the published sizes of Qwen3.5, "qwen3.5-0.8b" to "qwen3.5-27b".
std::vector<std::string> ShapeNames();

// The dimensions that belong to a name. The demo's heads have the published
// sizes and ratios above one; the rest of it is small.
//
// Errors: INVALID_ARGUMENT that lists the names.
absl::StatusOr<qwen3_5::Config> FindShape(std::string_view name);

// The text of a config.json that ParseConfig reads as this configuration. Its
// rotary_dim must be a quarter of head_dim.
std::string ConfigJson(const qwen3_5::Config& config);

}  // namespace omni

#endif  // OMNI_TOOLS_CHECKPOINT_SHAPES_H_
