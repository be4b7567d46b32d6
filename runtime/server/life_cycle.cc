#include "runtime/server/life_cycle.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/request_error.h"

namespace omni {
namespace {

constexpr size_t kMaxFailureBytes = 1024;

bool IsLegal(v1::WorkerState from, v1::WorkerState to) {
  switch (from) {
    case v1::WORKER_STATE_LOADING:
      return to == v1::WORKER_STATE_WARMING || to == v1::WORKER_STATE_STOPPED;
    case v1::WORKER_STATE_WARMING:
      return to == v1::WORKER_STATE_READY || to == v1::WORKER_STATE_STOPPED;
    case v1::WORKER_STATE_READY:
      return to == v1::WORKER_STATE_DRAINING;
    case v1::WORKER_STATE_DRAINING:
    case v1::WORKER_STATE_FAILED:
      return to == v1::WORKER_STATE_STOPPED;
    default:  // STOPPED, and what protobuf adds to an enum.
      return false;
  }
}

// Without the prefix that protobuf's enum values share.
std::string Shown(v1::WorkerState state) {
  return v1::WorkerState_Name(state).substr(
      std::string("WORKER_STATE_").size());
}

// Under no lock, so two lines may change places: each tells both states.
void Log(v1::WorkerState from, v1::WorkerState to) {
  LOG(INFO) << "state " << Shown(to) << " after " << Shown(from);
}

}  // namespace

LifeCycle::LifeCycle() { LOG(INFO) << "state LOADING"; }

v1::WorkerState LifeCycle::state() const {
  absl::MutexLock lock(&mu_);
  return state_;
}

std::string LifeCycle::failure() const {
  absl::MutexLock lock(&mu_);
  return failure_;
}

absl::Status LifeCycle::MoveTo(v1::WorkerState next) {
  v1::WorkerState before;
  {
    absl::MutexLock watcher_lock(&watcher_mu_);
    {
      absl::MutexLock lock(&mu_);
      before = state_;
      if (!IsLegal(before, next)) {
        return absl::FailedPreconditionError(absl::StrFormat(
            "a worker does not go from %s to %s", Shown(before), Shown(next)));
      }
      state_ = next;
    }
    if (watcher_ != nullptr) watcher_(next);
  }
  Log(before, next);
  return absl::OkStatus();
}

void LifeCycle::Fail(std::string_view failure) {
  v1::WorkerState before;
  {
    absl::MutexLock watcher_lock(&watcher_mu_);
    {
      absl::MutexLock lock(&mu_);
      before = state_;
      if (before == v1::WORKER_STATE_FAILED ||
          before == v1::WORKER_STATE_STOPPED) {
        return;
      }
      state_ = v1::WORKER_STATE_FAILED;
      failure_ = std::string(CutAtCharacter(failure, kMaxFailureBytes));
    }
    if (watcher_ != nullptr) watcher_(v1::WORKER_STATE_FAILED);
  }
  Log(before, v1::WORKER_STATE_FAILED);
}

void LifeCycle::Watch(Watcher watcher) {
  {
    absl::MutexLock watcher_lock(&watcher_mu_);
    watcher_.swap(watcher);
    if (watcher_ != nullptr) watcher_(state());
  }
  // `watcher`, the one before, is destroyed without a lock.
}

}  // namespace omni
