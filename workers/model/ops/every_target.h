#ifndef OMNI_WORKERS_MODEL_OPS_EVERY_TARGET_H_
#define OMNI_WORKERS_MODEL_OPS_EVERY_TARGET_H_

// For tests of vector kernels: runs each case once for every instruction set
// that was compiled and that this processor has.
//
//   class RowOpsTest : public EveryTargetTest {};
//   OMNI_FOR_EVERY_TARGET(RowOpsTest);
//   TEST_P(RowOpsTest, ...) { ... }

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"

namespace omni::ops {

class EveryTargetTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }

  // Normally distributed numbers, the same in every run of the case.
  std::vector<float> Random(int64_t count, float scale = 1.0F) {
    std::normal_distribution<float> normal(0.0F, scale);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = normal(random_);
    return values;
  }

 private:
  std::mt19937 random_{20240229};
};

inline std::string TargetTestName(
    const ::testing::TestParamInfo<int64_t>& info) {
  return hwy::TargetName(info.param);
}

}  // namespace omni::ops

#define OMNI_FOR_EVERY_TARGET(suite)                            \
  INSTANTIATE_TEST_SUITE_P(                                     \
      Targets, suite,                                           \
      ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), \
      ::omni::ops::TargetTestName)

#endif  // OMNI_WORKERS_MODEL_OPS_EVERY_TARGET_H_
