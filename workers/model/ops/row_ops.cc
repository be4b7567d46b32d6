#include "workers/model/ops/row_ops.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "workers/model/ops/row_ops.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "workers/model/ops/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omni::ops::HWY_NAMESPACE {

void RoundToBf16(const float* x, int64_t count, uint16_t* out) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    StoreAs(d, hn::LoadU(d, x + i), out + i);
  });
}

HWY_INLINE float InverseRms(const float* x, float eps, int64_t count) {
  return 1.0F /
         std::sqrt(SumOfSquares(x, count) / static_cast<float>(count) + eps);
}

template <typename Out>
HWY_INLINE void RmsNormT(const float* x, const float* scale, float eps,
                         int64_t count, Out* out) {
  const float inverse = InverseRms(x, eps, count);
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto normed = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, inverse));
    StoreAs(d, hn::Mul(normed, hn::LoadU(d, scale + i)), out + i);
  });
}

void RmsNormToF32(const float* x, const float* scale, float eps, int64_t count,
                  float* out) {
  RmsNormT(x, scale, eps, count, out);
}

void RmsNormToBf16(const float* x, const float* scale, float eps, int64_t count,
                   uint16_t* out) {
  RmsNormT(x, scale, eps, count, out);
}

template <typename Out>
HWY_INLINE void GatedRmsNormT(const float* x, const float* z,
                              const float* scale, float eps, int64_t count,
                              Out* out) {
  const float inverse = InverseRms(x, eps, count);
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto normed = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, inverse));
    const auto scaled = hn::Mul(normed, hn::LoadU(d, scale + i));
    StoreAs(d, hn::Mul(scaled, Silu(d, hn::LoadU(d, z + i))), out + i);
  });
}

void GatedRmsNormToF32(const float* x, const float* z, const float* scale,
                       float eps, int64_t count, float* out) {
  GatedRmsNormT(x, z, scale, eps, count, out);
}

void GatedRmsNormToBf16(const float* x, const float* z, const float* scale,
                        float eps, int64_t count, uint16_t* out) {
  GatedRmsNormT(x, z, scale, eps, count, out);
}

template <typename Out>
HWY_INLINE void SiluMulT(const float* gate, const float* up, int64_t count,
                         Out* out) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto activated = Silu(d, hn::LoadU(d, gate + i));
    StoreAs(d, hn::Mul(activated, hn::LoadU(d, up + i)), out + i);
  });
}

void SiluMulToF32(const float* gate, const float* up, int64_t count,
                  float* out) {
  SiluMulT(gate, up, count, out);
}

void SiluMulToBf16(const float* gate, const float* up, int64_t count,
                   uint16_t* out) {
  SiluMulT(gate, up, count, out);
}

template <typename Out>
HWY_INLINE void SigmoidGateT(const float* x, float factor, const float* gate,
                             int64_t count, Out* out) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor));
    const auto open = Sigmoid(d, hn::LoadU(d, gate + i));
    StoreAs(d, hn::Mul(scaled, open), out + i);
  });
}

void SigmoidGateToF32(const float* x, float factor, const float* gate,
                      int64_t count, float* out) {
  SigmoidGateT(x, factor, gate, count, out);
}

void SigmoidGateToBf16(const float* x, float factor, const float* gate,
                       int64_t count, uint16_t* out) {
  SigmoidGateT(x, factor, gate, count, out);
}

void NormRotate(const float* x, const float* scale, float eps, int64_t count,
                const float* cos, const float* sin, int64_t rotary_half,
                float factor, float* out) {
  const float inverse = InverseRms(x, eps, count) * factor;
  const auto load = [&](auto d, int64_t i) HWY_ATTR {
    return hn::Mul(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, inverse)),
                   hn::LoadU(d, scale + i));
  };
  ForEachVector(rotary_half, [&](auto d, int64_t i) HWY_ATTR {
    const auto first = load(d, i);
    const auto second = load(d, i + rotary_half);
    const auto c = hn::LoadU(d, cos + i);
    const auto s = hn::LoadU(d, sin + i);
    hn::StoreU(hn::NegMulAdd(second, s, hn::Mul(first, c)), d, out + i);
    hn::StoreU(hn::MulAdd(first, s, hn::Mul(second, c)), d,
               out + i + rotary_half);
  });
  const int64_t rotated = 2 * rotary_half;
  ForEachVector(count - rotated, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(load(d, rotated + i), d, out + rotated + i);
  });
}

void ConvSilu(int64_t rows, int64_t channels, const float* x, int64_t stride,
              const float* taps, int64_t taps_stride, float* out,
              int64_t out_stride) {
  // Down the rows of one vector of channels: each input is loaded once.
  ForEachVector(channels, [&](auto d, int64_t c) HWY_ATTR {
    const auto tap0 = hn::LoadU(d, taps + c);
    const auto tap1 = hn::LoadU(d, taps + taps_stride + c);
    const auto tap2 = hn::LoadU(d, taps + 2 * taps_stride + c);
    const auto tap3 = hn::LoadU(d, taps + 3 * taps_stride + c);
    auto x0 = hn::LoadU(d, x - 3 * stride + c);
    auto x1 = hn::LoadU(d, x - 2 * stride + c);
    auto x2 = hn::LoadU(d, x - stride + c);
    for (int64_t r = 0; r < rows; ++r) {
      const auto x3 = hn::LoadU(d, x + r * stride + c);
      const auto older = hn::MulAdd(tap1, x1, hn::Mul(tap0, x0));
      const auto sum = hn::MulAdd(tap3, x3, hn::MulAdd(tap2, x2, older));
      hn::StoreU(Silu(d, sum), d, out + r * out_stride + c);
      x0 = x1;
      x1 = x2;
      x2 = x3;
    }
  });
}

void L2Normalize(int64_t rows, int64_t count, float factor, float* x,
                 int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x + r * stride;
    const float scale = factor / std::sqrt(SumOfSquares(row, count) + 1e-6F);
    ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(d, row + i), hn::Set(d, scale)), d, row + i);
    });
  }
}

}  // namespace omni::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omni::ops {

HWY_EXPORT(RoundToBf16);
HWY_EXPORT(RmsNormToF32);
HWY_EXPORT(RmsNormToBf16);
HWY_EXPORT(GatedRmsNormToF32);
HWY_EXPORT(GatedRmsNormToBf16);
HWY_EXPORT(SiluMulToF32);
HWY_EXPORT(SiluMulToBf16);
HWY_EXPORT(SigmoidGateToF32);
HWY_EXPORT(SigmoidGateToBf16);
HWY_EXPORT(NormRotate);
HWY_EXPORT(ConvSilu);
HWY_EXPORT(L2Normalize);

void RoundToBf16(const float* x, int64_t count, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(RoundToBf16)(x, count, out);
}

void RmsNorm(const float* x, const float* scale, float eps, int64_t count,
             float* out) {
  HWY_DYNAMIC_DISPATCH(RmsNormToF32)(x, scale, eps, count, out);
}

void RmsNorm(const float* x, const float* scale, float eps, int64_t count,
             uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(RmsNormToBf16)(x, scale, eps, count, out);
}

void GatedRmsNorm(const float* x, const float* z, const float* scale, float eps,
                  int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(GatedRmsNormToF32)(x, z, scale, eps, count, out);
}

void GatedRmsNorm(const float* x, const float* z, const float* scale, float eps,
                  int64_t count, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(GatedRmsNormToBf16)(x, z, scale, eps, count, out);
}

void SiluMul(const float* gate, const float* up, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(SiluMulToF32)(gate, up, count, out);
}

void SiluMul(const float* gate, const float* up, int64_t count, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(SiluMulToBf16)(gate, up, count, out);
}

void SigmoidGate(const float* x, float factor, const float* gate, int64_t count,
                 float* out) {
  HWY_DYNAMIC_DISPATCH(SigmoidGateToF32)(x, factor, gate, count, out);
}

void SigmoidGate(const float* x, float factor, const float* gate, int64_t count,
                 uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(SigmoidGateToBf16)(x, factor, gate, count, out);
}

void NormRotate(const float* x, const float* scale, float eps, int64_t count,
                const float* cos, const float* sin, int64_t rotary_half,
                float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(NormRotate)
  (x, scale, eps, count, cos, sin, rotary_half, factor, out);
}

void ConvSilu(int64_t rows, int64_t channels, const float* x, int64_t stride,
              const float* taps, int64_t taps_stride, float* out,
              int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(ConvSilu)
  (rows, channels, x, stride, taps, taps_stride, out, out_stride);
}

void L2Normalize(int64_t rows, int64_t count, float factor, float* x,
                 int64_t stride) {
  HWY_DYNAMIC_DISPATCH(L2Normalize)(rows, count, factor, x, stride);
}

}  // namespace omni::ops
#endif  // HWY_ONCE
