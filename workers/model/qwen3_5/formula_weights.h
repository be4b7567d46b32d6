#ifndef OMNI_WORKERS_MODEL_QWEN3_5_FORMULA_WEIGHTS_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_FORMULA_WEIGHTS_H_

// Two tiny Qwen3.5 models whose weights are a formula, so that their hidden
// states can be written down as test vectors.

#include <cstdint>
#include <string>

#include "workers/model/qwen3_5/config.h"
#include "workers/model/testing/fake_weights.h"

namespace omni::qwen3_5 {

struct FormulaModel {
  Config config;
  omni::testing::FakeWeights weights;  // FP32.
};

// Element `index` of the tensor that TextTensors lists at place `tensor`,
// before it is rounded to FP32.
double FormulaValue(int tensor, int64_t index);

// Every tensor of TextTensors(config) filled by the formula.
FormulaModel MakeFormulaModel(
    const Config& config, const std::string& prefix = "model.language_model.");

// Layers linear, full; one key head, two value heads, square state; 1,592
// weights.
Config SmallFormulaConfig();

// Layers linear, full, linear; four queries a key, three value heads a key
// head, oblong state, large epsilon; 6,294 weights.
Config RatioFormulaConfig();

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_FORMULA_WEIGHTS_H_
