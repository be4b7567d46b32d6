// What the runtime adds to a bare gRPC call, and how fast a cancelled call
// leaves the queue. Echo and no-op servers are processes of their own; both are
// measured in one run, in turns.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/base/logging.h"
#include "runtime/server/server_harness.h"
#include "runtime/testing/fake_worker.h"
#include "runtime/testing/subprocess.h"
#include "tests/benchmarks/noop_messages.h"

namespace omni {
namespace {

using ::omni::testing::AsyncDecide;
using ::omni::testing::MakeRequest;
using ::omni::testing::ServerHarness;
using ::omni::testing::Step;
using ::omni::testing::Subprocess;
using SteadyClock = std::chrono::steady_clock;

constexpr int kOutstanding = 64;
constexpr int kCallsOfARound = 4096;
constexpr int kWarmUpCalls = 2000;

double MicrosecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - start)
      .count();
}

// Sorts `values`.
double Percentile(std::vector<double>& values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(p * (values.size() - 1))];
}

// A server process that lies beside this program.
class Server {
 public:
  Server(const std::string& name, std::vector<std::string> flags)
      : process_(Command(name, std::move(flags))) {
    const std::string prefix = "listening on ";
    const std::string line = process_.ReadLine();
    CHECK(line.rfind(prefix, 0) == 0) << process_.ReadErrors();
    stub_ = v1::CuaS1::NewStub(grpc::CreateChannel(
        line.substr(prefix.size()), grpc::InsecureChannelCredentials()));
  }

  // The microseconds that one call took.
  double Call() {
    const auto start = SteadyClock::now();
    grpc::ClientContext context;
    v1::DecideResponse response;
    const grpc::Status status = stub_->Decide(&context, request_, &response);
    const double us = MicrosecondsSince(start);
    CHECK(status.ok()) << status.error_message();
    return us;
  }

  // The microseconds that a number of calls took, kOutstanding of them open.
  double CallMany(int count) {
    struct Pending {
      grpc::ClientContext context;
      v1::DecideResponse response;
      grpc::Status status;
      std::unique_ptr<grpc::ClientAsyncResponseReader<v1::DecideResponse>>
          reader;
    };
    grpc::CompletionQueue queue;
    const auto start_one = [&] {
      auto* const pending = new Pending;
      pending->reader = stub_->AsyncDecide(&pending->context, request_, &queue);
      pending->reader->Finish(&pending->response, &pending->status, pending);
    };
    const auto start = SteadyClock::now();
    for (int i = 0; i < kOutstanding; ++i) start_one();
    void* tag = nullptr;
    bool ok = false;
    for (int ended = 0; ended < count; ++ended) {
      CHECK(queue.Next(&tag, &ok));
      const std::unique_ptr<Pending> pending(static_cast<Pending*>(tag));
      CHECK(pending->status.ok()) << pending->status.error_message();
      if (ended + kOutstanding < count) start_one();
    }
    const double us = MicrosecondsSince(start);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    return us;
  }

 private:
  static std::vector<std::string> Command(const std::string& name,
                                          std::vector<std::string> flags) {
    char self[4096];
    const ssize_t size = readlink("/proc/self/exe", self, sizeof(self));
    CHECK(size > 0 && size < static_cast<ssize_t>(sizeof(self)));
    const std::string path(self, size);
    flags.insert(flags.begin(), path.substr(0, path.rfind('/') + 1) + name);
    return flags;
  }

  Subprocess process_;
  const v1::DecideRequest request_ = NoopRequest();
  std::unique_ptr<v1::CuaS1::Stub> stub_;
};

struct Servers {
  Server echo{"echo_server", {}};
  Server noop{"noop_server", {"--address=127.0.0.1:0"}};
};

// One call at a time, echo and no-op in turns.
void BM_OneOutstanding(benchmark::State& state) {
  Servers servers;
  for (int i = 0; i < kWarmUpCalls; ++i) {
    servers.echo.Call();
    servers.noop.Call();
  }
  std::vector<double> echo;
  std::vector<double> noop;
  while (state.KeepRunning()) {
    echo.push_back(servers.echo.Call());
    noop.push_back(servers.noop.Call());
  }
  state.counters["echo_p50_us"] = Percentile(echo, 0.5);
  state.counters["echo_p99_us"] = Percentile(echo, 0.99);
  state.counters["noop_p50_us"] = Percentile(noop, 0.5);
  state.counters["noop_p99_us"] = Percentile(noop, 0.99);
  state.counters["p50_ratio"] = Percentile(noop, 0.5) / Percentile(echo, 0.5);
  state.counters["p99_ratio"] = Percentile(noop, 0.99) / Percentile(echo, 0.99);
}
BENCHMARK(BM_OneOutstanding)->Iterations(20000)->UseRealTime();

// Rounds of calls with 64 open at a time, echo and no-op in turns.
void BM_SixtyFourOutstanding(benchmark::State& state) {
  Servers servers;
  servers.echo.CallMany(kCallsOfARound);
  servers.noop.CallMany(kCallsOfARound);
  std::vector<double> echo;
  std::vector<double> noop;
  while (state.KeepRunning()) {
    echo.push_back(servers.echo.CallMany(kCallsOfARound));
    noop.push_back(servers.noop.CallMany(kCallsOfARound));
  }
  const double echo_us = Percentile(echo, 0.5);
  const double noop_us = Percentile(noop, 0.5);
  state.counters["echo_calls_per_s"] = kCallsOfARound / echo_us * 1e6;
  state.counters["noop_calls_per_s"] = kCallsOfARound / noop_us * 1e6;
  state.counters["calls_ratio"] = echo_us / noop_us;
}
BENCHMARK(BM_SixtyFourOutstanding)->Iterations(20)->UseRealTime();

// From a client's cancel to the moment when its unit is no longer in the queue,
// while another unit runs. Client and server share this process.
void BM_CancelQueuedCall(benchmark::State& state) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide busy(stub.get(), MakeRequest("busy"));
  harness.control().AwaitStarted("busy/q");
  std::vector<double> removal;
  while (state.KeepRunning()) {
    AsyncDecide queued(stub.get(), MakeRequest("queued"));
    harness.control().AwaitUnitOf("queued");
    const auto start = SteadyClock::now();
    queued.Cancel();
    harness.control().AwaitNoUnitOf("queued");
    removal.push_back(MicrosecondsSince(start));
  }
  harness.control().ReleaseAll();
  CHECK(busy.Wait().ok());
  state.counters["removal_p50_us"] = Percentile(removal, 0.5);
  state.counters["removal_p99_us"] = Percentile(removal, 0.99);
}
BENCHMARK(BM_CancelQueuedCall)->Iterations(2000)->UseRealTime();

}  // namespace
}  // namespace omni

BENCHMARK_MAIN();
