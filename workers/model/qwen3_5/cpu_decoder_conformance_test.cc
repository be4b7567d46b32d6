#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "workers/model/ops/linear.h"
#include "workers/model/qwen3_5/conformance.h"
#include "workers/model/qwen3_5/cpu_decoder.h"

namespace omni::qwen3_5 {
namespace {

// One thread each: these models are too small for more, and the number of
// threads has a test of its own.
absl::StatusOr<std::unique_ptr<Decoder>> LoadF32(WeightSource& weights,
                                                 const Config& config) {
  return CpuDecoder::Load(weights, config, {CpuPrecision::kF32, 1});
}

absl::StatusOr<std::unique_ptr<Decoder>> LoadBf16(WeightSource& weights,
                                                  const Config& config) {
  return CpuDecoder::Load(weights, config, {CpuPrecision::kBF16, 1});
}

INSTANTIATE_TEST_SUITE_P(Cpu, DecoderConformanceTest,
                         ::testing::Values(Implementation{"F32", &LoadF32,
                                                          Precision::kF32}),
                         ImplementationName);

// Where the processor has none, there is nothing to hold to anything.
INSTANTIATE_TEST_SUITE_P(
    CpuBf16, DecoderConformanceTest,
    ::testing::ValuesIn(ops::HasFastBf16()
                            ? std::vector<Implementation>{Implementation{
                                  "Bf16", &LoadBf16, Precision::kBf16}}
                            : std::vector<Implementation>{}),
    ImplementationName);

}  // namespace
}  // namespace omni::qwen3_5
