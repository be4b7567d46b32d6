#ifndef OMNI_RUNTIME_SERVER_WORKER_MAIN_H_
#define OMNI_RUNTIME_SERVER_WORKER_MAIN_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "runtime/server/service_binding.h"
#include "runtime/server/worker.h"

namespace omni {

// Loads a worker; reads the flags of the main file that defines them. An error
// names the flag or file that is to blame.
using WorkerLoader =
    absl::AnyInvocable<absl::StatusOr<std::unique_ptr<Worker>>() &&>;

// The whole life of a worker process; what main() returns.
//
// Parses and checks the flags that every worker has (defined in
// worker_main.cc), looks whether the port is free, calls `load`, answers the
// worker's warm-up request, and only then opens the port and prints "listening
// on ADDRESS" on standard output. SIGTERM and SIGINT drain; a second one ends
// the process at once.
//
// Returns 0 if every accepted request was answered, 1 otherwise and after any
// error, of which it prints one line on standard error. A flag that cannot be
// parsed ends the process right there, in the same way.
//
//   int main(int argc, char** argv) {
//     return omni::WorkerMain(
//         argc, argv, "Serves Cua-S1.",
//         std::make_unique<omni::ServiceBindingOf<omni::v1::CuaS1>>(),
//         [] { return Load(FLAGS_checkpoint); });
//   }
int WorkerMain(int argc, char** argv, const std::string& usage,
               std::unique_ptr<ServiceBinding> binding, WorkerLoader load);

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_WORKER_MAIN_H_
