#ifndef OMNI_WORKERS_CUA_S1_WORKER_H_
#define OMNI_WORKERS_CUA_S1_WORKER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/server/worker.h"
#include "workers/cua_s1/identity.h"
#include "workers/cua_s1/processor.h"
#include "workers/model/qwen3_5/decoder.h"
#include "workers/model/tokenizer.h"
#include "workers/model/weights.h"

namespace omni::cua_s1 {

// Where forward passes run, for GetInfo.
struct Device {
  std::string name;       // "cpu" or the name of a GPU.
  std::string precision;  // "f32" or "bf16".
  int threads = 1;        // Host threads of one forward pass.
};

// Answers closed-option choices: each question is one unit, whose hidden state
// is projected onto the option letters outside the permit.
//
// Thread-safe as Worker says: the decoder is touched by units and by
// DestroyExecutor only.
class CuaS1Worker : public Worker {
 public:
  // Reads the rows of the letters A to Z from the tied embedding in `weights`,
  // which is not used afterwards.
  //
  // Errors: FAILED_PRECONDITION that names what is wrong: CheckModel's, a
  // tokenizer with another pre-tokenizer pattern than Qwen3.5's, without the
  // tokens of the chat frame, with more tokens than embedding rows, in which a
  // letter is not one token, or, under the published name, not its token.
  static absl::StatusOr<std::unique_ptr<CuaS1Worker>> Create(
      Identity identity, std::unique_ptr<const Tokenizer> tokenizer,
      std::unique_ptr<qwen3_5::Decoder> decoder, WeightSource& weights,
      Device device);

  v1::WorkerInfo Info() const override;
  json::Dialect dialect() const override { return json::Dialect::kStrict; }
  absl::StatusOr<std::unique_ptr<Decision>> Prepare(
      const json::Value& request) override;
  std::string WarmUpBody() const override;
  void DestroyExecutor() override { decoder_.reset(); }

 private:
  class ChoiceDecision;

  CuaS1Worker(Identity identity, std::unique_ptr<const Tokenizer> tokenizer,
              std::unique_ptr<qwen3_5::Decoder> decoder,
              std::vector<std::vector<float>> letter_rows, Device device);

  const Identity identity_;
  const Device device_;
  const int max_prompt_tokens_;
  const std::unique_ptr<const Tokenizer> tokenizer_;
  const Processor processor_;
  // [26][hidden_size], widened to FP32.
  const std::vector<std::vector<float>> letter_rows_;
  std::unique_ptr<qwen3_5::Decoder> decoder_;
};

}  // namespace omni::cua_s1

#endif  // OMNI_WORKERS_CUA_S1_WORKER_H_
