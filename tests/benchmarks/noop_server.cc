// A whole worker whose own part is empty: prepare and finish do nothing, and so
// does its one unit. What is left is the runtime.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/server/service_binding.h"
#include "runtime/server/worker.h"
#include "runtime/server/worker_main.h"
#include "tests/benchmarks/noop_messages.h"

namespace omni {
namespace {

class NoopDecision final : public Decision {
 public:
  Unit NextUnit() override {
    if (submitted_) return nullptr;
    submitted_ = true;
    return [] { return Rows(); };
  }
  absl::Status Accept(Rows) override { return absl::OkStatus(); }
  absl::StatusOr<v1::DecideResponse> Finish() override {
    return NoopResponse();
  }

 private:
  bool submitted_ = false;
};

class NoopWorker final : public Worker {
 public:
  v1::WorkerInfo Info() const override { return {}; }
  json::Dialect dialect() const override { return json::Dialect::kStrict; }
  absl::StatusOr<std::unique_ptr<Decision>> Prepare(
      const json::Value&) override {
    return std::make_unique<NoopDecision>();
  }
  std::string WarmUpBody() const override { return "{}"; }
  void DestroyExecutor() override {}
};

}  // namespace
}  // namespace omni

int main(int argc, char** argv) {
  return omni::WorkerMain(
      argc, argv, "A worker that does nothing, for benchmarks.",
      std::make_unique<omni::ServiceBindingOf<omni::v1::CuaS1>>(),
      []() -> absl::StatusOr<std::unique_ptr<omni::Worker>> {
        return std::make_unique<omni::NoopWorker>();
      });
}
