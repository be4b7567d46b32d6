#ifndef OMNI_RUNTIME_SERVER_DECISION_SERVER_H_
#define OMNI_RUNTIME_SERVER_DECISION_SERVER_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/server.h"
#include "runtime/base/thread.h"
#include "runtime/server/life_cycle.h"
#include "runtime/server/pipeline.h"
#include "runtime/server/service_binding.h"
#include "runtime/server/unary_call.h"

namespace omni {

// Serves one pipeline over gRPC: the worker's service, health under the full
// name of the service and under the empty name, and reflection.
//
// Flow: a few threads poll one completion queue and never block: they arm
// calls, hand requests to the pipeline and answer GetInfo. Replies are sent
// from whichever thread has them. Health is SERVING exactly while the life
// cycle is in READY.
//
// Ownership: owns the service; the pipeline and the life cycle outlive it.
//
// Shutdown: Drain, from a thread that neither polls nor runs units; the
// destructor drains without patience if that was not called.
class DecisionServer {
 public:
  struct Options {
    // "HOST:PORT", where port 0 means a free one, or "unix:PATH".
    std::string address;
    // Polling threads; 0: one on up to 4 cores, else two.
    int pollers = 0;
    // Calls that one connection may have open; further ones wait in the client.
    int max_concurrent_streams = 1024;
    // How long a connection may be silent before the server pings it, and how
    // long the answer may take.
    absl::Duration keepalive_time = absl::Hours(2);
    absl::Duration keepalive_timeout = absl::Seconds(20);
    // How often a client may ping.
    absl::Duration min_ping_interval = absl::Seconds(10);
  };

  // Opens the port. UNAVAILABLE if it cannot listen on the address.
  static absl::StatusOr<std::unique_ptr<DecisionServer>> Start(
      const Options& options, std::unique_ptr<ServiceBinding> binding,
      Pipeline* pipeline, LifeCycle* life_cycle);

  DecisionServer(const DecisionServer&) = delete;
  DecisionServer& operator=(const DecisionServer&) = delete;
  ~DecisionServer();

  // Where clients find it: Options::address with the port that was chosen.
  const std::string& address() const { return address_; }

  // Calls that exist, armed ones included.
  int live_calls() const { return live_.count(); }
  // Those whose caller is known to be gone, but whose work still runs.
  int abandoned_calls() const { return live_.abandoned(); }

  // Closes in this order: DRAINING, so that health turns; serves on for
  // `delay`; refuses new requests with DRAINING; waits up to `timeout` for the
  // accepted ones with all their units and for their replies to be sent; then
  // withdraws those that wait and waits for the dispatched unit, whose caller
  // gets UNAVAILABLE; closes the port; joins. False if a request was still
  // there, or a reply on its way, at the timeout. To be called once.
  bool Drain(absl::Duration delay, absl::Duration timeout);

 private:
  DecisionServer(std::unique_ptr<ServiceBinding> binding, Pipeline* pipeline,
                 LifeCycle* life_cycle)
      : binding_(std::move(binding)),
        pipeline_(pipeline),
        life_cycle_(life_cycle) {}

  absl::Status Open(const Options& options);
  void Poll();

  const std::unique_ptr<ServiceBinding> binding_;
  Pipeline* const pipeline_;
  LifeCycle* const life_cycle_;
  std::string address_;
  LiveCalls live_;
  bool armed_ = false;
  std::atomic<bool> going_down_ = false;
  // In this order: the server goes before its queue.
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<Thread> pollers_;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_DECISION_SERVER_H_
