#ifndef OMNI_WORKERS_MODEL_OPS_BUFFER_H_
#define OMNI_WORKERS_MODEL_OPS_BUFFER_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "hwy/aligned_allocator.h"

namespace omni::ops {

// Uninitialised memory for numbers, aligned for every vector width, that is
// kept from one use to the next. Movable; not thread-safe.
template <typename T>
class Buffer {
 public:
  // Makes room for at least `size` elements; what was in the buffer is lost if
  // it has to grow. Grows by at least half where there is memory for that, so
  // that slowly rising sizes do not reallocate each time.
  //
  // Errors: RESOURCE_EXHAUSTED if there is not enough memory for `size`.
  absl::Status Reserve(int64_t size) {
    if (size <= capacity_) return absl::OkStatus();
    int64_t wanted = std::max(size, capacity_ + capacity_ / 2);
    data_.reset();  // First, so that both are never held at once.
    capacity_ = 0;
    data_ = hwy::AllocateAligned<T>(static_cast<size_t>(wanted));
    if (data_ == nullptr && wanted > size) {
      wanted = size;
      data_ = hwy::AllocateAligned<T>(static_cast<size_t>(wanted));
    }
    if (data_ == nullptr) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "no memory for %d elements of %d bytes", wanted, sizeof(T)));
    }
    capacity_ = wanted;
    return absl::OkStatus();
  }

  void Free() {
    data_.reset();
    capacity_ = 0;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  int64_t capacity() const { return capacity_; }

 private:
  hwy::AlignedFreeUniquePtr<T[]> data_;
  int64_t capacity_ = 0;
};

}  // namespace omni::ops

#endif  // OMNI_WORKERS_MODEL_OPS_BUFFER_H_
