#include "workers/model/ops/buffer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

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

// Bytes of this process's address space.
rlim_t AddressSpace() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

TEST(BufferTest, GrowsByLessThanHalfWhereThatIsAllThereIs) {
  if (AddressSpace() > rlim_t{1} << 40) {
    GTEST_SKIP() << "a sanitizer's shadow; it ends a process without memory";
  }
  constexpr int64_t kSize = int64_t{64} << 20;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit limit = before;
  Buffer<char> buffer;
  limit.rlim_cur = AddressSpace() + kSize + kSize / 4;
  EXPECT_OK(buffer.Reserve(kSize));
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const absl::Status grown = buffer.Reserve(kSize + 1);
  const int64_t capacity = buffer.capacity();
  const absl::Status too_much = buffer.Reserve(2 * kSize);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_OK(grown);
  EXPECT_EQ(capacity, kSize + 1);
  EXPECT_THAT(too_much, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(buffer.capacity(), 0);
}

TEST(BufferTest, SaysThatThereIsNotEnoughMemory) {
  Buffer<float> buffer;
  EXPECT_THAT(buffer.Reserve(int64_t{1} << 62),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(buffer.Reserve(1));
}

}  // namespace
}  // namespace omni::ops
