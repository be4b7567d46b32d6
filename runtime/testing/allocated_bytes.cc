#include "runtime/testing/allocated_bytes.h"

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace omni::testing {
namespace {

std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};

void CountAllocated(int64_t bytes) {
  const int64_t live = live_bytes.fetch_add(bytes) + bytes;
  int64_t peak = peak_bytes.load();
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
}

}  // namespace

int64_t AllocatedBytes() { return live_bytes.load(); }

int64_t PeakAllocatedBytes() { return peak_bytes.load(); }

void ResetPeakAllocatedBytes() { peak_bytes = live_bytes.load(); }

}  // namespace omni::testing

void* operator new(size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  omni::testing::CountAllocated(
      static_cast<int64_t>(malloc_usable_size(memory)));
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  omni::testing::live_bytes.fetch_sub(
      static_cast<int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
