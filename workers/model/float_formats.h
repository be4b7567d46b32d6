#ifndef OMNI_WORKERS_MODEL_FLOAT_FORMATS_H_
#define OMNI_WORKERS_MODEL_FLOAT_FORMATS_H_

// Conversions between FP32 and the two 16-bit formats of checkpoints, which
// are handled as their bit patterns. Widening is exact; narrowing rounds to
// nearest, ties to even. They do not depend on the processor's treatment of
// subnormals, and their loops vectorise.

#include <bit>
#include <cstdint>

#include "absl/types/span.h"

namespace omni {

inline float Bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Overflow gives an infinity; a NaN stays one, with its sign and the upper part
// of its payload, and becomes quiet.
inline uint16_t FloatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(is_nan ? quiet : rounded);
}

inline float F16ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits & 0x7c00;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fff) << 13;
  // A subnormal is its mantissa times 2^-24, a normal FP32 number.
  const uint32_t subnormal = std::bit_cast<uint32_t>(
      static_cast<float>(static_cast<int32_t>(bits & 0x3ff)) * 0x1p-24F);
  // The exponent's bias grows from 15 to 127; infinities and NaNs keep an
  // exponent of all ones.
  const uint32_t normal =
      magnitude + (exponent == 0x7c00 ? 224U << 23 : 112U << 23);
  return std::bit_cast<float>(sign | (exponent == 0 ? subnormal : normal));
}

// Values from 65520 on give an infinity, those up to 2^-25 zero. Every NaN
// becomes the quiet one of its sign.
inline uint16_t FloatToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t result = 0;
  if (magnitude > 0x7f800000) {
    result = 0x7e00;
  } else if (magnitude >= 0x477ff000) {
    result = 0x7c00;
  } else if (magnitude >= 0x38800000) {
    result = (magnitude - (112U << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  } else {
    // Between 0.5 and 1 the spacing of FP32 is that of FP16's subnormals, so
    // the sum is rounded as the result should be.
    result = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
             std::bit_cast<uint32_t>(0.5F);
  }
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | result);
}

// Widens out.size() little-endian numbers that lie at `bytes`, at any
// alignment.
void WidenBf16(const char* bytes, absl::Span<float> out);
void WidenF16(const char* bytes, absl::Span<float> out);

}  // namespace omni

#endif  // OMNI_WORKERS_MODEL_FLOAT_FORMATS_H_
