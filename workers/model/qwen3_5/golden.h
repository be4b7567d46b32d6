#ifndef OMNI_WORKERS_MODEL_QWEN3_5_GOLDEN_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_GOLDEN_H_

// What transformers computed with tiny Qwen3.5 checkpoints, recorded in
// tests/golden/qwen3_5 by tools/golden/make_qwen3_5_golden.py. A test that
// reads it has //tests/golden/qwen3_5:cases among its data.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/weights.h"

namespace omni::qwen3_5 {

// One prompt and the last token's row after the final norm, [hidden_size].
struct GoldenRun {
  std::vector<uint32_t> prompt;
  std::vector<float> fp32;  // Of the run in FP32.
  std::vector<float> bf16;  // Of the run in BF16.
};

struct GoldenRuns {
  // Rows of the embedding that are compared as a decision would be, at most 26.
  std::vector<uint32_t> letters;
  std::vector<GoldenRun> runs;
};

// A checkpoint and what it computes.
struct GoldenCase {
  std::string folder;   // The checkpoint.
  std::string adapter;  // Folder of the adapter to merge in; empty for none.
  Config config;
  GoldenRuns expected;
};

// Names of the cases that have a checkpoint, in byte order.
//
// Errors: NOT_FOUND if the folder of the cases is not there.
absl::StatusOr<std::vector<std::string>> GoldenCaseNames();

// Errors: those of the files; INVALID_ARGUMENT where expected.json does not
// have the form that the script writes.
absl::StatusOr<GoldenCase> LoadGoldenCase(std::string_view name);

// Only what is expected, for a case whose weights are a formula:
// "formula_small" and "formula_ratio".
absl::StatusOr<GoldenRuns> LoadGoldenRuns(std::string_view name,
                                          int hidden_size);

// Probabilities of `letters`, softmax of the tied logits of a final row
// [hidden_size]. `embedding` is row-major, [vocab_size, hidden_size].
std::vector<double> LetterProbabilities(absl::Span<const float> embedding,
                                        absl::Span<const uint32_t> letters,
                                        absl::Span<const float> row);

// How far rows are from others of the same shape.
struct Deviation {
  double largest = 0;  // Of any element.
  double rms = 0;      // Root of the mean square.
};
Deviation DeviationOf(const std::vector<std::vector<float>>& actual,
                      const std::vector<std::vector<float>>& expected);

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_GOLDEN_H_
