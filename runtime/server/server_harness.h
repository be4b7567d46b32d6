#ifndef OMNI_RUNTIME_SERVER_SERVER_HARNESS_H_
#define OMNI_RUNTIME_SERVER_SERVER_HARNESS_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/server/decision_server.h"
#include "runtime/server/life_cycle.h"
#include "runtime/server/pipeline.h"
#include "runtime/testing/fake_worker.h"

namespace omni::testing {

// A server of CuaS1 with a FakeWorker, READY, on a free port of this machine.
// Its test ends with no call left; the destructor checks that.
class ServerHarness {
 public:
  struct Options {
    int max_pending = 64;
    int host_threads = 2;
    int pollers = 1;
    const Clock* clock = Clock::Real();
  };

  ServerHarness() : ServerHarness(Options()) {}
  explicit ServerHarness(Options options);
  // Releases everything and drains.
  ~ServerHarness();

  FakeWorkerControl& control() { return *control_; }
  Pipeline& pipeline() { return *pipeline_; }
  DecisionServer& server() { return *server_; }
  LifeCycle& life_cycle() { return life_cycle_; }
  const std::string& address() const { return server_->address(); }

  // A connection of its own.
  std::shared_ptr<grpc::Channel> NewChannel(
      const grpc::ChannelArguments& arguments = {}) const;
  std::unique_ptr<v1::CuaS1::Stub> NewStub() const {
    return v1::CuaS1::NewStub(NewChannel());
  }

  // Drains on a thread of its own; DrainResult waits for the result.
  void StartDrain(absl::Duration delay, absl::Duration timeout);
  bool DrainResult();

  // How many Decide calls the server has asked gRPC for: one more with each
  // that came, before it is answered.
  int decides_armed() const { return decides_armed_; }

  // Waits until this many slots are taken, by asking GetInfo's numbers again
  // and again.
  void AwaitDepth(int depth) const;

 private:
  std::atomic<int> decides_armed_ = 0;
  LifeCycle life_cycle_;
  const std::shared_ptr<FakeWorkerControl> control_ =
      std::make_shared<FakeWorkerControl>();
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<DecisionServer> server_;
  bool drained_ = false;
  bool drain_result_ = false;
  Thread drain_thread_;
};

// A request with one choice between yes and no for each id.
v1::DecideRequest MakeRequest(const std::string& name,
                              const std::vector<std::string>& ids = {"q"});
// The same as a JSON body.
std::string MakeBody(const std::string& name,
                     const std::vector<std::string>& ids = {"q"});

// One Decide call on its way.
class AsyncDecide {
 public:
  // `timeout` becomes the client's deadline, if it is given.
  AsyncDecide(v1::CuaS1::Stub* stub, const v1::DecideRequest& request,
              std::optional<std::chrono::milliseconds> timeout = std::nullopt);
  // Cancels if the call has not ended, and waits for its end.
  ~AsyncDecide();

  void Cancel() { context_.TryCancel(); }
  // Waits for the end of the call.
  const grpc::Status& Wait();
  const v1::DecideResponse& response() const { return response_; }
  // The value of a trailer, "" if there is none. After Wait.
  std::string Trailer(const std::string& key) const;

 private:
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  v1::DecideResponse response_;
  grpc::Status status_;
  bool waited_ = false;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::DecideResponse>> reader_;
};

// The reason in the status details; "" if there is none.
std::string ReasonOf(const grpc::Status& status);
// A metadata value of the status details; "" if there is none.
std::string MetadataOf(const grpc::Status& status, const std::string& key);

}  // namespace omni::testing

#endif  // OMNI_RUNTIME_SERVER_SERVER_HARNESS_H_
