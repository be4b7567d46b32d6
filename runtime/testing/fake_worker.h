#ifndef OMNI_RUNTIME_TESTING_FAKE_WORKER_H_
#define OMNI_RUNTIME_TESTING_FAKE_WORKER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/server/worker.h"

namespace omni::testing {

// Where a FakeWorker does something odd, or is held up.
enum class Step {
  kPrepare,
  kUnit,
  kAccept,
  kFinish,
  kInfo,  // Of no request: named "". Errors are ignored, exceptions are not.
};

// What it does there.
enum class Fault {
  kRequestError,    // A RequestError, BAD_STATE.
  kError,           // INTERNAL with the text "secret cause".
  kThrow,           // An exception with the text "secret cause".
  kExecutorFailed,  // The RequestError EXECUTOR_FAILED.
  kLongError,       // A RequestError, BAD_STATE, with a text of 9 KiB.
  kBadUtf8,         // kFinish alone: a response that is not valid UTF-8.
};

// What tests see and steer of a FakeWorker, which may outlive it or not.
//
// A request is named by its `state`, a string; it has one unit for each of its
// questions, named "<state>/<question id>". Thread-safe.
class FakeWorkerControl {
 public:
  // From now on, whoever reaches `step` of a request that is not released waits
  // there. Steps other than kUnit hold up a host thread.
  void Hold(Step step) ABSL_LOCKS_EXCLUDED(mu_);
  // Lets everybody through, now and later.
  void ReleaseAll() ABSL_LOCKS_EXCLUDED(mu_);
  // Lets one request through `step`.
  void Release(Step step, const std::string& request) ABSL_LOCKS_EXCLUDED(mu_);
  // Has every later request of that name fail at `step`.
  void Inject(Step step, const std::string& request, Fault fault)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Wait until a request has reached a step, or a unit has started.
  void AwaitReached(Step step, const std::string& request)
      ABSL_LOCKS_EXCLUDED(mu_);
  void AwaitStarted(const std::string& unit) ABSL_LOCKS_EXCLUDED(mu_);
  // Wait until no unit, waiting or running, is left of a request.
  void AwaitNoUnitOf(const std::string& request) ABSL_LOCKS_EXCLUDED(mu_);
  // Wait until a unit of a request exists, waiting or running.
  void AwaitUnitOf(const std::string& request) ABSL_LOCKS_EXCLUDED(mu_);

  // Whether a request has come to a step.
  bool reached(Step step, const std::string& request) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Units in the order of their start.
  std::vector<std::string> started() const ABSL_LOCKS_EXCLUDED(mu_);
  // The most units that ran at a time.
  int max_running() const ABSL_LOCKS_EXCLUDED(mu_);
  // Decisions that exist.
  int live_decisions() const ABSL_LOCKS_EXCLUDED(mu_);
  // Units that exist, waiting or running.
  int live_units() const ABSL_LOCKS_EXCLUDED(mu_);
  bool executor_destroyed() const ABSL_LOCKS_EXCLUDED(mu_);
  // Whether all units and the end of the executor were on one thread.
  bool one_executor_thread() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  friend class FakeWorker;
  friend class FakeDecision;
  friend class FakeUnit;

  struct Key {
    Step step;
    std::string request;
    friend bool operator<(const Key& a, const Key& b) {
      return a.step != b.step ? a.step < b.step : a.request < b.request;
    }
  };

  // Waits at a step as long as it is held, then does what was injected.
  absl::Status Pass(Step step, const std::string& request)
      ABSL_LOCKS_EXCLUDED(mu_);
  bool Injected(Step step, const std::string& request, Fault fault) const
      ABSL_LOCKS_EXCLUDED(mu_);
  void NoteExecutorThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  std::set<Step> held_ ABSL_GUARDED_BY(mu_);
  std::set<Key> released_ ABSL_GUARDED_BY(mu_);
  std::set<Key> reached_ ABSL_GUARDED_BY(mu_);
  std::map<Key, Fault> faults_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> started_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, int> units_of_ ABSL_GUARDED_BY(mu_);
  int running_ ABSL_GUARDED_BY(mu_) = 0;
  int max_running_ ABSL_GUARDED_BY(mu_) = 0;
  int live_decisions_ ABSL_GUARDED_BY(mu_) = 0;
  int live_units_ ABSL_GUARDED_BY(mu_) = 0;
  bool executor_destroyed_ ABSL_GUARDED_BY(mu_) = false;
  std::thread::id executor_thread_ ABSL_GUARDED_BY(mu_);
  bool one_executor_thread_ ABSL_GUARDED_BY(mu_) = true;
};

// A worker without a model. It answers every question with its first option,
// or "yes" if there is none, and refuses requests whose `state` is no string
// (BAD_STATE) or whose `questions` are no object (BAD_QUESTIONS).
class FakeWorker final : public Worker {
 public:
  explicit FakeWorker(std::shared_ptr<FakeWorkerControl> control)
      : control_(std::move(control)) {}

  v1::WorkerInfo Info() const override;
  json::Dialect dialect() const override { return json::Dialect::kStrict; }
  absl::StatusOr<std::unique_ptr<Decision>> Prepare(
      const json::Value& request) override;
  std::string WarmUpBody() const override;
  void DestroyExecutor() override;

 private:
  const std::shared_ptr<FakeWorkerControl> control_;
};

}  // namespace omni::testing

#endif  // OMNI_RUNTIME_TESTING_FAKE_WORKER_H_
