#include "runtime/scheduler/deadline_queue.h"

#include <algorithm>
#include <utility>

#include "runtime/base/logging.h"

namespace omni {

void DeadlineQueue::Insert(Item* item, absl::Time deadline) {
  CHECK(!item->in_deadline_queue());
  // Here and not in Remove, which is to be short: only this makes them more.
  if (heap_.size() > 2 * size_ + 64) Sweep();
  heap_.push_back({deadline, item});
  item->place_ = heap_.size() - 1;
  ++size_;
  SiftUp(item->place_);
}

void DeadlineQueue::Remove(Item* item) {
  CHECK(item->in_deadline_queue());
  Set(item->place_, {heap_[item->place_].deadline, nullptr});
  item->place_ = Item::kNoPlace;
  --size_;
}

absl::Time DeadlineQueue::TopDeadline() const {
  return heap_.empty() ? absl::InfiniteFuture() : heap_.front().deadline;
}

bool DeadlineQueue::TopIsBlank() const {
  return !heap_.empty() && heap_.front().item == nullptr;
}

DeadlineQueue::Item* DeadlineQueue::PopTop() {
  CHECK(!heap_.empty());
  Item* const item = heap_.front().item;
  if (item != nullptr) Remove(item);
  const Entry last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) {
    heap_.front() = last;
    SiftDown(0);
  }
  return item;
}

void DeadlineQueue::Set(size_t place, Entry entry) {
  ++steps_;
  heap_[place] = entry;
  if (entry.item != nullptr) entry.item->place_ = place;
}

void DeadlineQueue::SiftUp(size_t place) {
  const Entry entry = heap_[place];
  while (place > 0) {
    const size_t parent = (place - 1) / 2;
    ++steps_;
    if (heap_[parent].deadline <= entry.deadline) break;
    Set(place, heap_[parent]);
    place = parent;
  }
  Set(place, entry);
}

void DeadlineQueue::SiftDown(size_t place) {
  const Entry entry = heap_[place];
  while (true) {
    size_t child = 2 * place + 1;
    if (child >= heap_.size()) break;
    ++steps_;
    if (child + 1 < heap_.size() &&
        heap_[child + 1].deadline < heap_[child].deadline) {
      ++child;
    }
    if (entry.deadline <= heap_[child].deadline) break;
    Set(place, heap_[child]);
    place = child;
  }
  Set(place, entry);
}

void DeadlineQueue::Sweep() {
  steps_ += heap_.size();
  heap_.erase(std::remove_if(heap_.begin(), heap_.end(),
                             [](const Entry& e) { return e.item == nullptr; }),
              heap_.end());
  for (size_t i = 0; i < heap_.size(); ++i) Set(i, heap_[i]);
  for (size_t i = heap_.size() / 2; i > 0; --i) SiftDown(i - 1);
}

}  // namespace omni
