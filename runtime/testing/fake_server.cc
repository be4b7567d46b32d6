// A worker process with a FakeWorker, for tests that need a process of its own.
// Lines on standard input steer it: "release" lets all units through.

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gflags/gflags.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/base/thread.h"
#include "runtime/server/service_binding.h"
#include "runtime/server/worker_main.h"
#include "runtime/testing/fake_worker.h"

DEFINE_bool(hold_units, false, "hold units up, but for those of the warm-up");
DEFINE_bool(hold_load, false, "hang while loading");
DEFINE_bool(fail_load, false, "fail to load");
DEFINE_bool(hold_warm_up, false,
            "hold the warm-up request up and print \"warming up\" then");
DEFINE_bool(fail_warm_up, false, "fail in the warm-up request");

int main(int argc, char** argv) {
  using omni::testing::Fault;
  using omni::testing::Step;
  const auto control = std::make_shared<omni::testing::FakeWorkerControl>();
  omni::Thread reader;
  const int code = omni::WorkerMain(
      argc, argv, "A server for tests.",
      std::make_unique<omni::ServiceBindingOf<omni::v1::CuaS1>>(),
      [&]() -> absl::StatusOr<std::unique_ptr<omni::Worker>> {
        if (FLAGS_fail_load) return absl::NotFoundError("no such checkpoint");
        std::string line;
        if (FLAGS_hold_load) {
          std::puts("loading");
          std::fflush(stdout);
          std::getline(std::cin, line);
        }
        if (FLAGS_fail_warm_up) {
          control->Inject(Step::kUnit, "warm-up", Fault::kError);
        }
        if (FLAGS_hold_units || FLAGS_hold_warm_up) {
          control->Hold(Step::kUnit);
        }
        if (!FLAGS_hold_warm_up) control->Release(Step::kUnit, "warm-up");
        auto thread = omni::Thread::Start("stdin", [control] {
          std::string line;
          if (FLAGS_hold_warm_up) {
            control->AwaitReached(Step::kUnit, "warm-up");
            std::puts("warming up");
            std::fflush(stdout);
          }
          while (std::getline(std::cin, line)) {
            if (line == "release") control->ReleaseAll();
          }
        });
        if (!thread.ok()) return thread.status();
        reader = *std::move(thread);
        return std::make_unique<omni::testing::FakeWorker>(control);
      });
  // Its thread waits for the end of standard input.
  reader.Join();
  return code;
}
