#ifndef OMNI_WORKERS_CUA_S1_TESTING_FAKE_DECODER_H_
#define OMNI_WORKERS_CUA_S1_TESTING_FAKE_DECODER_H_

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "workers/model/qwen3_5/decoder.h"

namespace omni::testing {

// A Decoder without a model: records its plans and returns the rows that the
// test has lined up, zeros once those are used up. Thread-compatible.
class FakeDecoder : public qwen3_5::Decoder {
 public:
  explicit FakeDecoder(qwen3_5::Config config) : config_(std::move(config)) {}
  ~FakeDecoder() override {
    if (on_destruction_) std::move(on_destruction_)();
  }

  // Lines up the row of one more Forward.
  void Return(std::vector<float> row) { rows_.push_back(std::move(row)); }
  void OnDestruction(absl::AnyInvocable<void() &&> callback) {
    on_destruction_ = std::move(callback);
  }

  const std::vector<qwen3_5::Plan>& plans() const { return plans_; }

  const qwen3_5::Config& config() const override { return config_; }

  absl::StatusOr<std::vector<std::vector<float>>> Forward(
      const qwen3_5::Plan& plan) override {
    plans_.push_back(plan);
    std::vector<std::vector<float>> result;
    for (size_t i = 0; i < plan.sequences.size(); ++i) {
      if (rows_.empty()) {
        result.emplace_back(config_.hidden_size);
      } else {
        result.push_back(std::move(rows_.front()));
        rows_.pop_front();
      }
    }
    return result;
  }

 private:
  const qwen3_5::Config config_;
  std::vector<qwen3_5::Plan> plans_;
  std::deque<std::vector<float>> rows_;
  absl::AnyInvocable<void() &&> on_destruction_;
};

}  // namespace omni::testing

#endif  // OMNI_WORKERS_CUA_S1_TESTING_FAKE_DECODER_H_
