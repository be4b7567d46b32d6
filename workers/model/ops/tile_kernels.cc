#include "workers/model/ops/tile_kernels.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "workers/model/ops/tile_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "workers/model/ops/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omni::ops::HWY_NAMESPACE {

void DecayedScores(int64_t rows, const float* kk, const float* qk,
                   const float* decay_sum, const float* beta, float* a,
                   float* p) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = i * kTile;
    int64_t j = 0;
    for (; j <= i; j += lanes) {
      // Above the diagonal the difference may be positive; what is computed
      // from it there is dropped, but must not be infinite.
      const auto difference =
          hn::Sub(hn::Set(d, decay_sum[i]), hn::LoadU(d, decay_sum + j));
      const auto weight = ExpUpToOne(d, difference);
      const auto column = hn::Iota(d, static_cast<float>(j));
      const auto diagonal = hn::Set(d, static_cast<float>(i));
      const auto corrected = hn::Mul(
          hn::Mul(hn::LoadU(d, kk + row + j), weight), hn::Set(d, -beta[i]));
      const auto read = hn::Mul(hn::LoadU(d, qk + row + j), weight);
      hn::StoreU(hn::IfThenElseZero(hn::Lt(column, diagonal), corrected), d,
                 a + row + j);
      hn::StoreU(hn::IfThenElseZero(hn::Le(column, diagonal), read), d,
                 p + row + j);
    }
    for (; j < kTile; j += lanes) {
      hn::StoreU(hn::Zero(d), d, a + row + j);
      hn::StoreU(hn::Zero(d), d, p + row + j);
    }
  }
}

void DeltaResidual(int64_t rows, int64_t columns, const float* beta,
                   const float* decay, const float* r, float* v) {
  for (int64_t i = 0; i < rows; ++i) {
    float* out = v + i * columns;
    const float* read = r == nullptr ? nullptr : r + i * columns;
    ForEachVector(columns, [&](auto d, int64_t c) HWY_ATTR {
      auto value = hn::LoadU(d, out + c);
      if (read != nullptr) {
        value =
            hn::NegMulAdd(hn::Set(d, decay[i]), hn::LoadU(d, read + c), value);
      }
      hn::StoreU(hn::Mul(hn::Set(d, beta[i]), value), d, out + c);
    });
  }
}

void ScaleRows(int64_t rows, int64_t columns, const float* factors, float* x) {
  for (int64_t i = 0; i < rows; ++i) {
    float* out = x + i * columns;
    ForEachVector(columns, [&](auto d, int64_t c) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::Set(d, factors[i]), hn::LoadU(d, out + c)), d,
                 out + c);
    });
  }
}

// A NaN may hide other scores, which are then weighted by one at most; its own
// weight is NaN.
HWY_INLINE float MaxOf(const float* x, int64_t count) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  float max = x[0];
  int64_t i = 0;
  if (count >= lanes) {
    auto wide_max = hn::LoadU(d, x);
    for (i = lanes; i + lanes <= count; i += lanes) {
      wide_max = hn::Max(wide_max, hn::LoadU(d, x + i));
    }
    max = hn::GetLane(hn::MaxOfLanes(d, wide_max));
  }
  for (; i < count; ++i) max = std::max(max, x[i]);
  return max;
}

void SoftmaxTile(int64_t rows, int64_t first_valid, float* scores, float* max,
                 float* sum, int64_t columns, float* acc) {
  const Wide wide;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(wide));
  for (int64_t i = 0; i < rows; ++i) {
    float* row = scores + i * kTile;
    const int64_t valid = std::min(kTile, first_valid + i);
    const float old_max = max[i];
    const float new_max = std::max(old_max, MaxOf(row, valid));
    if (new_max > old_max) {
      const float factor = std::exp(old_max - new_max);
      sum[i] *= factor;
      max[i] = new_max;
      ScaleRows(1, columns, &factor, acc + i * columns);
    }
    auto total = hn::Zero(wide);
    for (int64_t j = 0; j < kTile; j += lanes) {
      if (j >= valid) {
        hn::StoreU(hn::Zero(wide), wide, row + j);
        continue;
      }
      const auto shifted =
          hn::Sub(hn::LoadU(wide, row + j), hn::Set(wide, new_max));
      // What is not valid may be anything; its exponential is dropped.
      const auto weight =
          hn::IfThenElseZero(hn::Lt(hn::Iota(wide, static_cast<float>(j)),
                                    hn::Set(wide, static_cast<float>(valid))),
                             ExpUpToOne(wide, shifted));
      total = hn::Add(total, weight);
      hn::StoreU(weight, wide, row + j);
    }
    sum[i] += hn::GetLane(hn::SumOfLanes(wide, total));
  }
}

}  // namespace omni::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omni::ops {

HWY_EXPORT(DecayedScores);
HWY_EXPORT(DeltaResidual);
HWY_EXPORT(ScaleRows);
HWY_EXPORT(SoftmaxTile);

void DecayedScores(int64_t rows, const float* kk, const float* qk,
                   const float* decay_sum, const float* beta, float* a,
                   float* p) {
  HWY_DYNAMIC_DISPATCH(DecayedScores)(rows, kk, qk, decay_sum, beta, a, p);
}

void DeltaResidual(int64_t rows, int64_t columns, const float* beta,
                   const float* decay, const float* r, float* v) {
  HWY_DYNAMIC_DISPATCH(DeltaResidual)(rows, columns, beta, decay, r, v);
}

void ScaleRows(int64_t rows, int64_t columns, const float* factors, float* x) {
  HWY_DYNAMIC_DISPATCH(ScaleRows)(rows, columns, factors, x);
}

void SoftmaxTile(int64_t rows, int64_t first_valid, float* scores, float* max,
                 float* sum, int64_t columns, float* acc) {
  HWY_DYNAMIC_DISPATCH(SoftmaxTile)
  (rows, first_valid, scores, max, sum, columns, acc);
}

}  // namespace omni::ops
#endif  // HWY_ONCE
