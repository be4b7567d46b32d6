#include <memory>

#include "gtest/gtest.h"
#include "workers/model/qwen3_5/conformance.h"
#include "workers/model/qwen3_5/reference.h"

namespace omni::qwen3_5 {
namespace {

absl::StatusOr<std::unique_ptr<Decoder>> LoadReference(WeightSource& weights,
                                                       const Config& config) {
  return ReferenceDecoder::Load(weights, config);
}

INSTANTIATE_TEST_SUITE_P(Reference, DecoderConformanceTest,
                         ::testing::Values(Implementation{
                             "Double", &LoadReference, Precision::kDouble}),
                         ImplementationName);

}  // namespace
}  // namespace omni::qwen3_5
