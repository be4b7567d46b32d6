// Helpers of the vector kernels, compiled once for each instruction set. To be
// included after hwy/foreach_target.h. No kernel reads or writes past the
// elements that it was given: remainders run through the same code with one
// lane.

#if defined(OMNI_WORKERS_MODEL_OPS_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNI_WORKERS_MODEL_OPS_VECTOR_INL_H_
#undef OMNI_WORKERS_MODEL_OPS_VECTOR_INL_H_
#else
#define OMNI_WORKERS_MODEL_OPS_VECTOR_INL_H_
#endif

#include <cstdint>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace omni::ops::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<float>;
using Single = hn::CappedTag<float, 1>;

// Calls body(tag, i) for i = 0, step, 2 * step, ... with the widest vectors
// that fit and then, for what remains, lane by lane.
template <class Body>
HWY_INLINE void ForEachVector(int64_t count, const Body& body) {
  const Wide wide;
  const int64_t step = static_cast<int64_t>(hn::Lanes(wide));
  int64_t i = 0;
  for (; i + step <= count; i += step) body(wide, i);
  for (; i < count; ++i) body(Single(), i);
}

template <class D>
HWY_INLINE void StoreAs(D d, hn::Vec<D> value, float* out) {
  hn::StoreU(value, d, out);
}

// As BF16: rounded to nearest, ties to even; a NaN stays one.
template <class D>
HWY_INLINE void StoreAs(D /*d*/, hn::Vec<D> value, uint16_t* out) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const hn::Rebind<uint16_t, D> d16;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded =
      hn::Add(bits, hn::Add(odd, hn::Set(du, uint32_t{0x7fff})));
  const auto quiet = hn::Or(bits, hn::Set(du, uint32_t{0x400000}));
  const auto chosen =
      hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded);
  const auto upper = hn::BitCast(di, hn::ShiftRight<16>(chosen));
  hn::StoreU(hn::DemoteTo(d16, upper), d16, out);
}

// exp(min(x, 0)), and NaN for NaN: neither hn::Min nor hn::Exp promises to keep
// one, and a weight that is no number must not turn into a plausible one.
template <class D>
HWY_INLINE hn::Vec<D> ExpUpToOne(D d, hn::Vec<D> x) {
  const auto result = hn::Exp(d, hn::Min(x, hn::Zero(d)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// 1 / (1 + exp(-x)) without overflow for any x; NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> Sigmoid(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0F);
  const auto small = ExpUpToOne(d, hn::Neg(hn::Abs(x)));
  const auto numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), small, one);
  return hn::Div(numerator, hn::Add(one, small));
}

template <class D>
HWY_INLINE hn::Vec<D> Silu(D d, hn::Vec<D> x) {
  return hn::Mul(x, Sigmoid(d, x));
}

HWY_INLINE float SumOfSquares(const float* x, int64_t count) {
  const Wide d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * step <= count; i += 2 * step) {
    const auto x0 = hn::LoadU(d, x + i);
    const auto x1 = hn::LoadU(d, x + i + step);
    sum0 = hn::MulAdd(x0, x0, sum0);
    sum1 = hn::MulAdd(x1, x1, sum1);
  }
  for (; i + step <= count; i += step) {
    const auto x0 = hn::LoadU(d, x + i);
    sum0 = hn::MulAdd(x0, x0, sum0);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

}  // namespace omni::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OMNI_WORKERS_MODEL_OPS_VECTOR_INL_H_
