#include "runtime/server/worker_main.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "gflags/gflags.h"
#include "runtime/base/status_macros.h"
#include "runtime/server/decision_server.h"
#include "runtime/server/life_cycle.h"
#include "runtime/server/listen_address.h"
#include "runtime/server/pipeline.h"
#include "runtime/server/shutdown_signals.h"

DEFINE_string(address, "127.0.0.1:50051",
              "where to listen: HOST:PORT (port 0: a free one) or unix:PATH");
DEFINE_int32(max_pending, 64,
             "requests accepted at a time, waiting or running; 1 to 1000000");
DEFINE_int32(host_threads, 2,
             "threads that prepare and finish requests; 1 to 1024");
DEFINE_int32(pollers, 0,
             "threads that poll for network events; 0: one on up to 4 cores, "
             "else two; at most 64");
DEFINE_int32(drain_delay_ms, 0,
             "after SIGTERM, how long requests are still accepted while health "
             "says NOT_SERVING, in milliseconds");
DEFINE_int32(drain_timeout_ms, 10000,
             "how long accepted requests may take after that, in milliseconds");
DEFINE_int32(keepalive_time_ms, 7200000,
             "silence on a connection after which the server pings it, in "
             "milliseconds");
DEFINE_int32(keepalive_timeout_ms, 20000,
             "how long the answer to a ping may take, in milliseconds");
DEFINE_int32(min_ping_interval_ms, 10000,
             "how often a client may ping a silent connection, in "
             "milliseconds");

namespace omni {
namespace {

constexpr int kMaxMilliseconds = 24 * 60 * 60 * 1000;

absl::Status CheckRange(const char* flag, int64_t value, int64_t min,
                        int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("--%s=%d: must be from %d to %d", flag, value, min, max));
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckRange("max_pending", FLAGS_max_pending, 1, 1000000));
  RETURN_IF_ERROR(CheckRange("host_threads", FLAGS_host_threads, 1, 1024));
  RETURN_IF_ERROR(CheckRange("pollers", FLAGS_pollers, 0, 64));
  const struct {
    const char* name;
    int value;
    int min;
  } times[] = {
      {"drain_delay_ms", FLAGS_drain_delay_ms, 0},
      {"drain_timeout_ms", FLAGS_drain_timeout_ms, 0},
      {"keepalive_time_ms", FLAGS_keepalive_time_ms, 1},
      {"keepalive_timeout_ms", FLAGS_keepalive_timeout_ms, 1},
      {"min_ping_interval_ms", FLAGS_min_ping_interval_ms, 0},
  };
  for (const auto& time : times) {
    RETURN_IF_ERROR(
        CheckRange(time.name, time.value, time.min, kMaxMilliseconds));
  }
  return absl::OkStatus();
}

// An error about the address, with the flag that gave it.
absl::Status NameAddress(const absl::Status& error) {
  return absl::UnavailableError(absl::StrFormat(
      "--address=%s: %s", FLAGS_address, std::string(error.message())));
}

// Everything but the parsing of flags. True if all requests were answered.
absl::StatusOr<bool> Serve(std::unique_ptr<ServiceBinding> binding,
                           WorkerLoader load) {
  RETURN_IF_ERROR(CheckFlags());
  if (const absl::Status free = CheckCanListen(FLAGS_address); !free.ok()) {
    return NameAddress(free);
  }
  ASSIGN_OR_RETURN(const auto signals, ShutdownSignals::Create());

  LifeCycle life_cycle;
  ASSIGN_OR_RETURN(std::unique_ptr<Worker> worker, std::move(load)());
  ASSIGN_OR_RETURN(const auto pipeline,
                   Pipeline::Create(std::move(worker), &life_cycle,
                                    {.max_pending = FLAGS_max_pending,
                                     .host_threads = FLAGS_host_threads}));
  RETURN_IF_ERROR(life_cycle.MoveTo(v1::WORKER_STATE_WARMING));
  if (const absl::Status warm = pipeline->WarmUp(); !warm.ok()) {
    return absl::InternalError(absl::StrFormat("the warm-up request failed: %s",
                                               std::string(warm.message())));
  }
  RETURN_IF_ERROR(life_cycle.MoveTo(v1::WORKER_STATE_READY));

  signals->Defer();
  auto started = DecisionServer::Start(
      {.address = FLAGS_address,
       .pollers = FLAGS_pollers,
       // A single client finds the queue full, not its own connection.
       .max_concurrent_streams = std::max(1024, 2 * FLAGS_max_pending),
       .keepalive_time = absl::Milliseconds(FLAGS_keepalive_time_ms),
       .keepalive_timeout = absl::Milliseconds(FLAGS_keepalive_timeout_ms),
       .min_ping_interval = absl::Milliseconds(FLAGS_min_ping_interval_ms)},
      std::move(binding), pipeline.get(), &life_cycle);
  // Somebody else may have taken the port during the load.
  if (absl::IsUnavailable(started.status())) {
    return NameAddress(started.status());
  }
  ASSIGN_OR_RETURN(auto server, std::move(started));
  absl::PrintF("listening on %s\n", server->address());
  std::fflush(stdout);

  signals->Await();
  const bool drained =
      server->Drain(absl::Milliseconds(FLAGS_drain_delay_ms),
                    absl::Milliseconds(FLAGS_drain_timeout_ms));
  server.reset();
  pipeline->Stop();
  RETURN_IF_ERROR(life_cycle.MoveTo(v1::WORKER_STATE_STOPPED));
  return drained;
}

}  // namespace

int WorkerMain(int argc, char** argv, const std::string& usage,
               std::unique_ptr<ServiceBinding> binding, WorkerLoader load) {
  gflags::SetUsageMessage(usage);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  absl::StatusOr<bool> drained =
      argc > 1 ? absl::InvalidArgumentError(
                     absl::StrFormat("unexpected argument '%s'", argv[1]))
               : Serve(std::move(binding), std::move(load));
  if (drained.ok()) return *drained ? 0 : 1;
  absl::FPrintF(stderr, "ERROR: %s\n", std::string(drained.status().message()));
  return 1;
}

}  // namespace omni
