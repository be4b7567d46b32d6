#ifndef OMNI_WORKERS_MODEL_QWEN3_5_CONFORMANCE_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_CONFORMANCE_H_

// The tests that every implementation of qwen3_5::Decoder must pass. A test
// file of the implementation runs them by
//
//   INSTANTIATE_TEST_SUITE_P(
//       Cpu, DecoderConformanceTest,
//       ::testing::Values(Implementation{"F32", &LoadF32, Precision::kF32},
//                         Implementation{"Bf16", &LoadBf16, Precision::kBf16}),
//       ImplementationName);
//
// in namespace omni::qwen3_5, and depends on :conformance, which has the golden
// cases among its data.

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/qwen3_5/decoder.h"
#include "workers/model/qwen3_5/golden.h"
#include "workers/model/weights.h"

namespace omni::qwen3_5 {

// What an implementation computes in, and so how exact it must be.
enum class Precision { kDouble, kF32, kBf16 };

struct Implementation {
  std::string name;  // Letters and digits.
  // `weights` may end with the call.
  absl::StatusOr<std::unique_ptr<Decoder>> (*load)(WeightSource& weights,
                                                   const Config& config);
  Precision precision;
};

inline void PrintTo(const Implementation& implementation, std::ostream* out) {
  *out << implementation.name;
}

inline std::string ImplementationName(
    const ::testing::TestParamInfo<Implementation>& info) {
  return info.param.name;
}

// How far final rows of this model may be from its recorded FP32 run:
// - kDouble: by the rounding of the FP32 run itself;
// - kF32: by 1e-4;
// - kBf16: by twice what the recorded BF16 run is off, in the largest element
//   as in the mean square.
Deviation AllowedDeviation(Precision precision, const GoldenRuns& golden);

// How far the probability of an option may be from the FP32 run's, when the
// BF16 run's is off by at most `bf16_run`, whatever the precision.
double AllowedProbabilityDeviation(double bf16_run);

class DecoderConformanceTest : public ::testing::TestWithParam<Implementation> {
};

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_CONFORMANCE_H_
