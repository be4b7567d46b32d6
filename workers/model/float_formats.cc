#include "workers/model/float_formats.h"

#include <cstddef>
#include <cstring>

namespace omni {
namespace {

static_assert(std::endian::native == std::endian::little);

uint16_t Load16(const char* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

}  // namespace

void WidenBf16(const char* bytes, absl::Span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = Bf16ToFloat(Load16(bytes + 2 * i));
  }
}

void WidenF16(const char* bytes, absl::Span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = F16ToFloat(Load16(bytes + 2 * i));
  }
}

}  // namespace omni
