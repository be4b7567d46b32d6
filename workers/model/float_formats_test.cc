#include "workers/model/float_formats.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace omni {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What the format's definition says: sign, biased exponent, mantissa.
double Decode(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int all_ones = (1 << exponent_bits) - 1;
  const uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits) & all_ones;
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1 : 1;
  if (exponent == all_ones) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) {
    return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  }
  return sign * std::ldexp(mantissa + (1U << mantissa_bits),
                           exponent - bias - mantissa_bits);
}

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

TEST(FloatFormatsTest, WidensEveryBf16ByDefinition) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double expected = Decode(bits, 8, 7);
    const float actual = Bf16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << bits;
    } else {
      ASSERT_EQ(actual, expected) << bits;
      ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
    }
  }
}

TEST(FloatFormatsTest, WidensEveryF16ByDefinition) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double expected = Decode(bits, 5, 10);
    const float actual = F16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << bits;
    } else {
      ASSERT_EQ(actual, expected) << bits;
      ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
    }
  }
}

// For each pair of neighbours: the halfway point goes to the even one, and the
// FP32 numbers beside it go to the nearer one.
void CheckRounding(uint16_t (*narrow)(float), float (*widen)(uint16_t),
                   uint32_t largest_finite) {
  for (uint32_t low = 0; low < largest_finite; ++low) {
    const uint32_t high = low + 1;
    const float a = widen(static_cast<uint16_t>(low));
    const float b = widen(static_cast<uint16_t>(high));
    ASSERT_EQ(narrow(a), low);
    ASSERT_EQ(narrow(-a), low | 0x8000);
    const double halfway = (static_cast<double>(a) + b) / 2;
    const float middle = static_cast<float>(halfway);
    ASSERT_EQ(middle, halfway);
    ASSERT_EQ(narrow(middle), low % 2 == 0 ? low : high) << low;
    ASSERT_EQ(narrow(-middle), (low % 2 == 0 ? low : high) | 0x8000) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0F)), low) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, kInfinity)), high) << low;
  }
}

TEST(FloatFormatsTest, NarrowsToNearestEvenBf16) {
  CheckRounding(FloatToBf16, Bf16ToFloat, 0x7f7f);
}

TEST(FloatFormatsTest, NarrowsToNearestEvenF16) {
  CheckRounding(FloatToF16, F16ToFloat, 0x7bff);
}

TEST(FloatFormatsTest, RoundsKnownValues) {
  EXPECT_EQ(Bf16ToFloat(FloatToBf16(-0.4638305303530638F)), -0.462890625F);
  EXPECT_EQ(Bf16ToFloat(FloatToBf16(-0.8859239465735168F)), -0.88671875F);
  EXPECT_EQ(Bf16ToFloat(FloatToBf16(0.5623790762907029F)), 0.5625F);
  EXPECT_EQ(Bf16ToFloat(FloatToBf16(0.8268795405320025F)), 0.828125F);
  EXPECT_EQ(FloatToF16(1.0F), 0x3c00);
  EXPECT_EQ(FloatToF16(65504.0F), 0x7bff);
  EXPECT_EQ(FloatToF16(0x1p-24F), 0x0001);
}

TEST(FloatFormatsTest, OverflowGivesInfinity) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(FloatToBf16(largest), 0x7f80);
  EXPECT_EQ(FloatToBf16(-largest), 0xff80);
  // The last that still rounds down, then the tie above it.
  EXPECT_EQ(FloatToBf16(std::bit_cast<float>(0x7f7f7fffU)), 0x7f7f);
  EXPECT_EQ(FloatToBf16(std::bit_cast<float>(0x7f7f8000U)), 0x7f80);
  EXPECT_EQ(FloatToF16(std::nextafter(65520.0F, 0.0F)), 0x7bff);
  EXPECT_EQ(FloatToF16(65520.0F), 0x7c00);
  EXPECT_EQ(FloatToF16(-kInfinity), 0xfc00);
  EXPECT_EQ(FloatToBf16(kInfinity), 0x7f80);
}

TEST(FloatFormatsTest, UnderflowKeepsTheSign) {
  EXPECT_EQ(FloatToF16(0x1p-25F), 0x0000);
  EXPECT_EQ(FloatToF16(-0x1p-25F), 0x8000);
  EXPECT_EQ(FloatToF16(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(FloatToF16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(FloatToBf16(-0.0F), 0x8000);
}

TEST(FloatFormatsTest, NanStaysNan) {
  // Its payload would round to an infinity or wrap around to zero.
  for (const uint32_t bits :
       {0x7f800001U, 0xff800001U, 0x7fffffffU, 0xffffffffU, 0x7fc00000U}) {
    const float nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(Bf16ToFloat(FloatToBf16(nan)))) << bits;
    EXPECT_TRUE(std::isnan(F16ToFloat(FloatToF16(nan)))) << bits;
    EXPECT_EQ(FloatToBf16(nan) >> 15, bits >> 31);
    EXPECT_EQ(FloatToF16(nan) >> 15, bits >> 31);
  }
}

TEST(FloatFormatsTest, ArraysWidenAsSingleNumbersAtAnyAlignment) {
  std::vector<char> bytes(1 + 2 * 0x10000);
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const uint16_t bits = static_cast<uint16_t>(i);
    std::memcpy(&bytes[1 + 2 * i], &bits, 2);
  }
  std::vector<float> bf16(0x10000);
  std::vector<float> f16(0x10000);
  WidenBf16(bytes.data() + 1, absl::MakeSpan(bf16));
  WidenF16(bytes.data() + 1, absl::MakeSpan(f16));
  for (uint32_t i = 0; i < 0x10000; ++i) {
    ASSERT_EQ(Bits(bf16[i]), Bits(Bf16ToFloat(static_cast<uint16_t>(i))));
    ASSERT_EQ(Bits(f16[i]), Bits(F16ToFloat(static_cast<uint16_t>(i))));
  }
}

}  // namespace
}  // namespace omni
