#include "workers/model/ops/buffer.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni::ops {
namespace {

using omni::testing::StatusIs;

TEST(BufferTest, KeepsItsMemoryForSmallerSizes) {
  Buffer<float> buffer;
  EXPECT_OK(buffer.Reserve(100));
  float* const data = buffer.data();
  data[99] = 1;
  EXPECT_OK(buffer.Reserve(7));
  EXPECT_OK(buffer.Reserve(100));
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(buffer.capacity(), 100);
}

TEST(BufferTest, GrowsByHalfAtLeastAndIsAligned) {
  Buffer<uint16_t> buffer;
  EXPECT_OK(buffer.Reserve(100));
  EXPECT_OK(buffer.Reserve(101));
  EXPECT_EQ(buffer.capacity(), 150);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0U);
}

TEST(BufferTest, SaysThatThereIsNotEnoughMemory) {
  Buffer<float> buffer;
  EXPECT_THAT(buffer.Reserve(int64_t{1} << 62),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(buffer.Reserve(1));
}

}  // namespace
}  // namespace omni::ops
