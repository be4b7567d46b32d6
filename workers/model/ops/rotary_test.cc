#include "workers/model/ops/rotary.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni::ops {
namespace {

TEST(RotaryTableTest, HasTheValuesOfTheSpecification) {
  RotaryTable table(1e7, 64);
  ASSERT_EQ(table.half(), 32);
  ASSERT_OK(table.Grow(1001));
  EXPECT_FLOAT_EQ(table.cos(7)[1], -0.4638305303530638F);
  EXPECT_FLOAT_EQ(table.sin(7)[1], -0.8859239465735168F);
  EXPECT_FLOAT_EQ(table.cos(1000)[0], 0.5623790762907029F);
  EXPECT_FLOAT_EQ(table.sin(1000)[0], 0.8268795405320025F);
  // Small angles are their own sine.
  EXPECT_FLOAT_EQ(table.sin(1)[16], 0.0003162277862429619F);
  EXPECT_FLOAT_EQ(table.sin(1)[31], 1.6548170833630138e-07F);
}

TEST(RotaryTableTest, GrowingKeepsWhatWasThere) {
  RotaryTable whole(100, 6);
  ASSERT_OK(whole.Grow(50));
  RotaryTable stepwise(100, 6);
  for (const int64_t positions : {1, 40, 10, 41, 50}) {
    ASSERT_OK(stepwise.Grow(positions));
  }
  for (int64_t t = 0; t < 50; ++t) {
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(stepwise.cos(t)[i], whole.cos(t)[i]);
      EXPECT_EQ(stepwise.sin(t)[i], whole.sin(t)[i]);
    }
  }
}

}  // namespace
}  // namespace omni::ops
