#ifndef OMNI_RUNTIME_SCHEDULER_DEADLINE_QUEUE_H_
#define OMNI_RUNTIME_SCHEDULER_DEADLINE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace omni {

// Finds the item with the earliest deadline. A binary heap whose items know
// their place in it, so that removing one merely blanks its place: O(1) in the
// worst case, wherever it is. Blank places go when they come to the top and are
// popped, or when Insert finds that they outnumber the items by more than 64
// and sweeps them out. So there are at most 2 n + 64 places, n being the most
// items that there ever were. With its share of the sweeps Insert is O(log n)
// amortised, and O(1) amortised where deadlines come in ascending order.
// PopTop is O(log n).
//
// Does not own its items. Thread-compatible.
class DeadlineQueue {
 public:
  // What an item derives from. Can be in one queue at a time.
  class Item {
   public:
    bool in_deadline_queue() const { return place_ != kNoPlace; }

   private:
    friend class DeadlineQueue;
    static constexpr size_t kNoPlace = static_cast<size_t>(-1);
    size_t place_ = kNoPlace;
  };

  // `item` is in no queue and outlives its stay in this one.
  void Insert(Item* item, absl::Time deadline);

  // `item` is in this queue.
  void Remove(Item* item);

  // The deadline at the top: no item has an earlier one. It is that of an item
  // unless the top is blank. absl::InfiniteFuture() if there is no place.
  absl::Time TopDeadline() const;

  // Whether the top is the place of an item that was removed.
  bool TopIsBlank() const;

  // Removes the top; there is one. Returns its item, null if it was blank. The
  // order of equal deadlines is unspecified.
  Item* PopTop();

  // Items, and places with the blank ones.
  size_t size() const { return size_; }
  size_t places() const { return heap_.size(); }

  // Places written or looked at by all calls together: what they cost.
  uint64_t steps() const { return steps_; }

 private:
  struct Entry {
    absl::Time deadline;
    Item* item;  // Null in a blank place.
  };

  void Set(size_t place, Entry entry);
  void SiftUp(size_t place);
  void SiftDown(size_t place);
  void Sweep();

  // The entry at i is no later than those at 2i+1 and 2i+2, blank or not.
  std::vector<Entry> heap_;
  size_t size_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SCHEDULER_DEADLINE_QUEUE_H_
