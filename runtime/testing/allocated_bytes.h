#ifndef OMNI_RUNTIME_TESTING_ALLOCATED_BYTES_H_
#define OMNI_RUNTIME_TESTING_ALLOCATED_BYTES_H_

#include <cstdint>

namespace omni::testing {

// A program that links this has an operator new that counts, for all of its
// threads together. Bytes are as the allocator rounds them. Thread-safe.

// What operator new has handed out and not got back.
int64_t AllocatedBytes();

// The most that this ever was since the last ResetPeakAllocatedBytes.
int64_t PeakAllocatedBytes();
void ResetPeakAllocatedBytes();

}  // namespace omni::testing

#endif  // OMNI_RUNTIME_TESTING_ALLOCATED_BYTES_H_
