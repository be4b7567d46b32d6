// The least that gRPC takes to answer a unary call: the same messages as
// noop_server, answered on the thread that polls. Runs until it is killed.

#include <cstdio>

#include "grpcpp/grpcpp.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "tests/benchmarks/noop_messages.h"

namespace omni {
namespace {

constexpr int kArmedCalls = 64;

v1::DecideResponse EchoResponse() {
  v1::DecideResponse response = NoopResponse();
  v1::Timing& timing = *response.mutable_timing();
  timing.set_prepare_seconds(1e-6);
  timing.set_queue_seconds(1e-6);
  timing.set_execute_seconds(1e-6);
  timing.set_total_seconds(3e-6);
  return response;
}

struct Call {
  grpc::ServerContext context;
  v1::DecideRequest request;
  grpc::ServerAsyncResponseWriter<v1::DecideResponse> responder{&context};
  bool answered = false;
};

int Run() {
  int port = 0;
  v1::CuaS1::AsyncService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  const auto arm = [&service, &queue] {
    auto* const call = new Call;
    service.RequestDecide(&call->context, &call->request, &call->responder,
                          queue.get(), queue.get(), call);
  };
  for (int i = 0; i < kArmedCalls; ++i) arm();
  std::printf("listening on 127.0.0.1:%d\n", port);
  std::fflush(stdout);

  const v1::DecideResponse response = EchoResponse();
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
    auto* const call = static_cast<Call*>(tag);
    if (call->answered) {
      delete call;
      continue;
    }
    arm();
    call->answered = true;
    call->responder.Finish(response, grpc::Status::OK, call);
  }
  return 0;
}

}  // namespace
}  // namespace omni

int main() { return omni::Run(); }
