#ifndef OMNI_RUNTIME_TESTING_FAKE_EXECUTOR_H_
#define OMNI_RUNTIME_TESTING_FAKE_EXECUTOR_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/scheduler/serial_scheduler.h"

namespace omni::testing {

// Takes the one result of a unit of a FakeExecutor and lets a test wait for it.
// Its callback may outlive it. Thread-safe.
class StatusCatcher {
 public:
  // For one Submit. A second result ends the process.
  absl::AnyInvocable<void(absl::StatusOr<int>) &&> Callback();

  // Blocks until the result is there.
  absl::StatusOr<int> Wait() const;
  // Whether it is there now.
  bool done() const;

 private:
  struct State {
    bool HasResult() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
      return result.has_value();
    }

    absl::Mutex mu;
    std::optional<absl::StatusOr<int>> result ABSL_GUARDED_BY(mu);
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Stands in for a loaded executor. Each unit has a name. A gated unit blocks
// when it has started, until its gate is opened; the gates of units that will
// start later can be opened beforehand. Records what happens, in order:
//
//   "start a"  the unit a was called
//   "end a"    it returns or throws
//   "drop a"   what it captured was destroyed, whether it ran or not
//
// Outlives its units. Thread-safe.
class FakeExecutor {
 public:
  FakeExecutor() = default;
  FakeExecutor(const FakeExecutor&) = delete;
  FakeExecutor& operator=(const FakeExecutor&) = delete;

  // What the unit will return (default: 0), or that it throws. To be called
  // before it runs.
  void SetResult(std::string_view name, absl::StatusOr<int> result);
  void SetThrows(std::string_view name);

  // A unit that is not gated, or is.
  absl::AnyInvocable<absl::StatusOr<int>() &&> Unit(std::string_view name);
  absl::AnyInvocable<absl::StatusOr<int>() &&> GatedUnit(std::string_view name);

  // What GatedUnit does when called, for units of other result types.
  absl::StatusOr<int> RunGated(std::string_view name);

  // Reserves a slot for the unit alone and submits it.
  absl::StatusOr<Ticket> Submit(
      SerialScheduler& scheduler, std::string_view name,
      absl::AnyInvocable<void(absl::StatusOr<int>) &&> on_done,
      SubmitOptions options = {});
  absl::StatusOr<Ticket> SubmitGated(
      SerialScheduler& scheduler, std::string_view name,
      absl::AnyInvocable<void(absl::StatusOr<int>) &&> on_done,
      SubmitOptions options = {});

  void WaitUntilStarted(std::string_view name);
  // Opens one gate, or every gate, also of units still to come.
  void Release(std::string_view name);
  void ReleaseAll();

  // Adds to the record.
  void Record(std::string event);
  std::vector<std::string> Events() const;
  // The names of the units that were called, in order.
  std::vector<std::string> Started() const;
  // The largest number of units that ever ran at once.
  int MaxConcurrent() const;
  // Units whose captures exist.
  int LiveCaptures() const;

 private:
  class Capture;

  struct Plan {
    absl::StatusOr<int> result = 0;
    bool throws = false;
    bool started = false;
    bool released = false;
  };

  absl::AnyInvocable<absl::StatusOr<int>() &&> MakeUnit(std::string_view name,
                                                        bool gated);
  absl::StatusOr<int> Run(const std::string& name, bool gated);

  mutable absl::Mutex mu_;
  std::map<std::string, Plan> plans_ ABSL_GUARDED_BY(mu_);
  bool all_released_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> started_ ABSL_GUARDED_BY(mu_);
  int running_ ABSL_GUARDED_BY(mu_) = 0;
  int max_concurrent_ ABSL_GUARDED_BY(mu_) = 0;
  int live_captures_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace omni::testing

#endif  // OMNI_RUNTIME_TESTING_FAKE_EXECUTOR_H_
