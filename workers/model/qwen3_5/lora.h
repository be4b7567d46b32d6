#ifndef OMNI_WORKERS_MODEL_QWEN3_5_LORA_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_LORA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "workers/model/safetensors.h"
#include "workers/model/weights.h"

namespace omni::qwen3_5 {

// A base model with a LoRA adapter of the PEFT layout merged in:
//
//   W' = W + (lora_alpha / r) * B A,   A [r, in], B [out, r], W [out, in]
//
// Reads a folder with `adapter_config.json` and `adapter_model.safetensors`.
// The sum is formed in FP32 whenever rows are read, so that no merged copy is
// kept; W' is as if computed at once, whichever blocks of rows are asked for.
// With products p_k = (lora_alpha / r) * B[o][k] * A[k][i] its error is at most
// (r + 2) * 2^-24 * sum |p_k|, and half a unit in the last place of W'.
//
// Load insists that the adapter is a plain LoRA one whose tensors are all
// finite and all belong to projections of the base model's layers: what the
// merge above does not say is refused, never skipped.
//
// Owns the base. Not thread-safe, as every WeightSource.
class AdaptedWeights : public WeightSource {
 public:
  static constexpr int kMaxRank = 128;
  static constexpr int64_t kMaxHeaderBytes = int64_t{8} << 20;

  // Errors: NOT_FOUND for a missing file or a base without an embedding,
  // INVALID_ARGUMENT for an adapter that is damaged, not plain or not for this
  // base. Messages begin with the file's path and name the key or the tensor.
  static absl::StatusOr<std::unique_ptr<AdaptedWeights>> Load(
      std::unique_ptr<WeightSource> base, const std::string& folder);

  // Projections that the adapter changes.
  size_t module_count() const { return modules_.size(); }

  // What the adapter says that it was trained on, its configuration's
  // base_model_name_or_path and revision: a repository's name or a folder of
  // the trainer's machine. "" if it does not say. Nothing here compares them
  // with the base.
  const std::string& base_model() const { return base_model_; }
  const std::string& base_revision() const { return base_revision_; }

  // An adapted tensor counts as F32, whatever the base's file has: that is
  // what its sum needs.
  const TensorInfo* Find(std::string_view name) const override;
  absl::Status ReadRows(std::string_view name, int64_t first_row,
                        int64_t row_count, absl::Span<float> out) override;
  void Release(std::string_view name) override;

 private:
  struct Module {
    TensorInfo info;  // Of the merged weight.
    std::string a;    // Names in the adapter's file; empty while unknown.
    std::string b;
  };

  AdaptedWeights(std::unique_ptr<WeightSource> base,
                 std::unique_ptr<SafetensorsFile> file, int rank, float scale)
      : base_(std::move(base)),
        file_(std::move(file)),
        rank_(rank),
        scale_(scale) {}

  absl::Status AddTensor(const std::string& name, const std::string& prefix);
  absl::Status CheckModule(const std::string& weight, Module& module) const;
  absl::Status CheckFinite(const std::string& name) const;

  const std::unique_ptr<WeightSource> base_;
  const std::unique_ptr<SafetensorsFile> file_;
  const int rank_;
  const float scale_;
  std::string base_model_;
  std::string base_revision_;
  std::map<std::string, Module, std::less<>> modules_;  // By the base's name.
};

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_LORA_H_
