#ifndef OMNI_RUNTIME_SERVER_WORKER_H_
#define OMNI_RUNTIME_SERVER_WORKER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "omni/v1/decision.pb.h"
#include "runtime/json/reader.h"
#include "runtime/json/value.h"

namespace omni {

// What a unit brings back from the executor: rows of FP32 numbers. What they
// mean is the worker's own business.
using Rows = std::vector<std::vector<float>>;

// One piece of device work. Owns all that it needs, since its caller may be
// gone before it returns; the device is quiet when it returns, with a result or
// with an error. Runs on the executor's thread.
using Unit = absl::AnyInvocable<absl::StatusOr<Rows>() &&>;

// One accepted request on its way through a worker. Used by one thread at a
// time, outside the permit:
//
//   while (Unit unit = decision->NextUnit()) {
//     Rows rows = <the scheduler runs unit>;
//     decision->Accept(std::move(rows));
//   }
//   decision->Finish();
class Decision {
 public:
  virtual ~Decision() = default;

  // The next unit to admit; null when there is none left. The permit is free
  // between two units of a decision.
  virtual Unit NextUnit() = 0;

  // Takes the rows of the unit that came last. An error fails the request
  // before its next unit is admitted.
  virtual absl::Status Accept(Rows rows) = 0;

  // The response, without `timing`. Called once, after the last Accept.
  virtual absl::StatusOr<v1::DecideResponse> Finish() = 0;
};

// A loaded model behind a service: the only thing that the server knows about
// it. Thread-safe but for the units, of which one runs at a time.
//
// Errors: a RequestError goes to the caller as it is. Any other status of a
// Decision or a unit becomes INTERNAL with a fixed text, its message goes to
// the log. A unit that throws, or returns a status whose reason is
// EXECUTOR_FAILED, ends the executor: DestroyExecutor runs, the worker is
// FAILED, and later requests are refused.
class Worker {
 public:
  virtual ~Worker() = default;

  // Everything about the worker but its state, failure and queue.
  virtual v1::WorkerInfo Info() const = 0;

  // How bodies and raw JSON are read.
  virtual json::Dialect dialect() const = 0;

  // Validates a whole request in its JSON form, renders and tokenizes it. No
  // device work.
  virtual absl::StatusOr<std::unique_ptr<Decision>> Prepare(
      const json::Value& request) = 0;

  // A System One body that this worker answers; readiness depends on it.
  virtual std::string WarmUpBody() const = 0;

  // Frees the executor on its own thread, with the permit held: after a unit
  // that ended it, or when the process stops. No unit runs afterwards.
  virtual void DestroyExecutor() = 0;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_WORKER_H_
