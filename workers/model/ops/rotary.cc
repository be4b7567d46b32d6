#include "workers/model/ops/rotary.h"

#include <cmath>

#include "runtime/base/status_macros.h"

namespace omni::ops {

absl::Status RotaryTable::Grow(int64_t positions) {
  if (positions <= positions_) return absl::OkStatus();
  if (positions * 2 * half_ > values_.capacity()) {
    positions_ = 0;
    RETURN_IF_ERROR(values_.Reserve(positions * 2 * half_));
  }
  const auto width = static_cast<float>(2 * half_);
  for (int64_t i = 0; i < half_; ++i) {
    const float frequency =
        1.0F / std::pow(theta_, static_cast<float>(2 * i) / width);
    for (int64_t t = positions_; t < positions; ++t) {
      const float angle = frequency * static_cast<float>(t);
      float* row = values_.data() + t * 2 * half_;
      row[i] = static_cast<float>(std::cos(static_cast<double>(angle)));
      row[half_ + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
  positions_ = positions;
  return absl::OkStatus();
}

}  // namespace omni::ops
