#include "runtime/testing/fake_executor.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/base/logging.h"
#include "runtime/base/status_macros.h"

namespace omni::testing {

absl::AnyInvocable<void(absl::StatusOr<int>) &&> StatusCatcher::Callback() {
  return [state = state_](absl::StatusOr<int> result) {
    absl::MutexLock lock(&state->mu);
    CHECK(!state->HasResult()) << "a second result";
    state->result = std::move(result);
  };
}

absl::StatusOr<int> StatusCatcher::Wait() const {
  absl::MutexLock lock(&state_->mu);
  state_->mu.Await(absl::Condition(state_.get(), &State::HasResult));
  return *state_->result;
}

bool StatusCatcher::done() const {
  absl::MutexLock lock(&state_->mu);
  return state_->HasResult();
}

// Stands for what a unit captures.
class FakeExecutor::Capture {
 public:
  Capture(FakeExecutor* executor, std::string name)
      : executor_(executor), name_(std::move(name)) {
    absl::MutexLock lock(&executor_->mu_);
    ++executor_->live_captures_;
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    absl::MutexLock lock(&executor_->mu_);
    --executor_->live_captures_;
    executor_->events_.push_back("drop " + name_);
  }

 private:
  FakeExecutor* const executor_;
  const std::string name_;
};

void FakeExecutor::SetResult(std::string_view name,
                             absl::StatusOr<int> result) {
  absl::MutexLock lock(&mu_);
  plans_[std::string(name)].result = std::move(result);
}

void FakeExecutor::SetThrows(std::string_view name) {
  absl::MutexLock lock(&mu_);
  plans_[std::string(name)].throws = true;
}

absl::AnyInvocable<absl::StatusOr<int>() &&> FakeExecutor::Unit(
    std::string_view name) {
  return MakeUnit(name, /*gated=*/false);
}

absl::AnyInvocable<absl::StatusOr<int>() &&> FakeExecutor::GatedUnit(
    std::string_view name) {
  return MakeUnit(name, /*gated=*/true);
}

absl::StatusOr<int> FakeExecutor::RunGated(std::string_view name) {
  return Run(std::string(name), /*gated=*/true);
}

absl::AnyInvocable<absl::StatusOr<int>() &&> FakeExecutor::MakeUnit(
    std::string_view name, bool gated) {
  return [this, name = std::string(name), gated,
          capture = std::make_unique<Capture>(this, std::string(name))] {
    return Run(name, gated);
  };
}

absl::StatusOr<int> FakeExecutor::Run(const std::string& name, bool gated) {
  absl::MutexLock lock(&mu_);
  Plan& plan = plans_[name];  // A map keeps its elements where they are.
  events_.push_back("start " + name);
  started_.push_back(name);
  plan.started = true;
  max_concurrent_ = std::max(max_concurrent_, ++running_);
  const auto open = [&] {
    mu_.AssertReaderHeld();
    return all_released_ || plan.released;
  };
  if (gated) mu_.Await(absl::Condition(&open));
  --running_;
  events_.push_back("end " + name);
  if (plan.throws) throw std::runtime_error("thrown by " + name);
  return plan.result;
}

absl::StatusOr<Ticket> FakeExecutor::Submit(
    SerialScheduler& scheduler, std::string_view name,
    absl::AnyInvocable<void(absl::StatusOr<int>) &&> on_done,
    SubmitOptions options) {
  ASSIGN_OR_RETURN(RequestSlot slot, scheduler.Reserve());
  return scheduler.Submit<int>(std::move(slot), Unit(name), std::move(options),
                               std::move(on_done));
}

absl::StatusOr<Ticket> FakeExecutor::SubmitGated(
    SerialScheduler& scheduler, std::string_view name,
    absl::AnyInvocable<void(absl::StatusOr<int>) &&> on_done,
    SubmitOptions options) {
  ASSIGN_OR_RETURN(RequestSlot slot, scheduler.Reserve());
  return scheduler.Submit<int>(std::move(slot), GatedUnit(name),
                               std::move(options), std::move(on_done));
}

void FakeExecutor::WaitUntilStarted(std::string_view name) {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(&plans_[std::string(name)].started));
}

void FakeExecutor::Release(std::string_view name) {
  absl::MutexLock lock(&mu_);
  plans_[std::string(name)].released = true;
}

void FakeExecutor::ReleaseAll() {
  absl::MutexLock lock(&mu_);
  all_released_ = true;
}

void FakeExecutor::Record(std::string event) {
  absl::MutexLock lock(&mu_);
  events_.push_back(std::move(event));
}

std::vector<std::string> FakeExecutor::Events() const {
  absl::MutexLock lock(&mu_);
  return events_;
}

std::vector<std::string> FakeExecutor::Started() const {
  absl::MutexLock lock(&mu_);
  return started_;
}

int FakeExecutor::MaxConcurrent() const {
  absl::MutexLock lock(&mu_);
  return max_concurrent_;
}

int FakeExecutor::LiveCaptures() const {
  absl::MutexLock lock(&mu_);
  return live_captures_;
}

}  // namespace omni::testing
