#ifndef OMNI_RUNTIME_SCHEDULER_DEADLINE_QUEUE_H_
#define OMNI_RUNTIME_SCHEDULER_DEADLINE_QUEUE_H_

#include <cstddef>
#include <vector>

#include "absl/time/time.h"

namespace omni {

// Finds the item with the earliest deadline. A binary heap whose items know
// their place in it, so that removing one merely blanks its place: O(1), also
// from the middle. Blank places are swept out before they outnumber the items,
// which costs O(1) for each removal on average. Insert and PopEarliest are
// O(log n), and Insert is O(1) where deadlines come in ascending order.
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

  // absl::InfiniteFuture() if there is no item.
  absl::Time Earliest() const;

  // Removes and returns the item with the earliest deadline; there is one. The
  // order of equal deadlines is unspecified.
  Item* PopEarliest();

  size_t size() const { return size_; }

 private:
  struct Entry {
    absl::Time deadline;
    Item* item;  // Null in a blank place.
  };

  void Set(size_t place, Entry entry);
  void SiftUp(size_t place);
  void SiftDown(size_t place);
  void RemoveTop();
  void DropBlankTops();
  void Sweep();

  // The entry at i is no later than those at 2i+1 and 2i+2, blank or not. The
  // first one is never blank.
  std::vector<Entry> heap_;
  size_t size_ = 0;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SCHEDULER_DEADLINE_QUEUE_H_
