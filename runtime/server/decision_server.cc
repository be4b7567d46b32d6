#include "runtime/server/decision_server.h"

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "runtime/base/logging.h"
#include "runtime/base/status_macros.h"
#include "runtime/server/decision_calls.h"

namespace omni {
namespace {

// Above the limit of the contract, so that it is this server that says so.
constexpr int kMaxReceiveBytes = 8 << 20;

// Calls of each method that wait for a client. Not arming is no back-pressure:
// gRPC would queue without a bound.
constexpr int kArmedCalls = 16;

// What requests that gRPC is still reading may hold in memory.
constexpr size_t kResourceQuotaBytes = size_t{512} << 20;

// Replies that are on their way when the drain's time is up get this long;
// whoever only watches health is cut off then.
constexpr std::chrono::milliseconds kReplyGrace(500);

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DecisionServer>> DecisionServer::Start(
    const Options& options, std::unique_ptr<ServiceBinding> binding,
    Pipeline* pipeline, LifeCycle* life_cycle) {
  std::unique_ptr<DecisionServer> server(
      new DecisionServer(std::move(binding), pipeline, life_cycle));
  RETURN_IF_ERROR(server->Open(options));
  return server;
}

absl::Status DecisionServer::Open(const Options& options) {
  // Switches of the whole process, looked at by BuildAndStart.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(binding_->service());
  builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  // Otherwise a second process gets the same port and half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             options.max_concurrent_streams);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             Milliseconds(options.keepalive_time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      Milliseconds(options.min_ping_interval));
  grpc::ResourceQuota quota("decision_server");
  quota.Resize(kResourceQuotaBytes);
  builder.SetResourceQuota(quota);
  // Health and reflection alone are served by gRPC's own threads.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrFormat("cannot listen on %s", options.address));
  }
  address_ = options.address;
  if (address_.rfind("unix:", 0) != 0) {
    address_ =
        absl::StrFormat("%s:%d", address_.substr(0, address_.rfind(':')), port);
  }

  const CallEnvironment environment = {.binding = binding_.get(),
                                       .pipeline = pipeline_,
                                       .queue = queue_.get(),
                                       .live = &live_,
                                       .going_down = &going_down_};
  const int pollers = options.pollers > 0 ? options.pollers
                      : std::thread::hardware_concurrency() > 4 ? 2
                                                                : 1;
  for (int i = 0; i < pollers; ++i) {
    ASSIGN_OR_RETURN(
        Thread poller,
        Thread::Start(absl::StrFormat("poller%d", i), [this] { Poll(); }));
    pollers_.push_back(std::move(poller));
  }
  for (int i = 0; i < kArmedCalls; ++i) ArmOneCallOfEachMethod(environment);
  armed_ = true;
  life_cycle_->Watch([this](v1::WorkerState state) {
    const bool serving = state == v1::WORKER_STATE_READY;
    auto* health = server_->GetHealthCheckService();
    health->SetServingStatus(binding_->full_name(), serving);
    health->SetServingStatus("", serving);
  });
  return absl::OkStatus();
}

DecisionServer::~DecisionServer() {
  if (going_down_) return;
  if (armed_) {
    Drain(absl::ZeroDuration(), absl::ZeroDuration());
    return;
  }
  // Open failed before a call was armed. A queue that still holds tags must not
  // be destroyed.
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now());
  }
  if (queue_ != nullptr) {
    queue_->Shutdown();
    Poll();
  }
  pollers_.clear();
}

bool DecisionServer::Drain(absl::Duration delay, absl::Duration timeout) {
  const Clock* const clock = pipeline_->clock();
  const absl::Time refuse_from = clock->Now() + delay;
  const absl::Time give_up = refuse_from + timeout;
  // A worker that has failed stays so, and refuses as such.
  life_cycle_->MoveTo(v1::WORKER_STATE_DRAINING).IgnoreError();
  {
    bool never = false;
    absl::Mutex mu;
    absl::MutexLock lock(&mu);
    while (clock->Now() < refuse_from) {
      clock->AwaitUntil(&mu, absl::Condition(&never), refuse_from);
    }
  }
  pipeline_->StopAdmission();
  const bool idle = pipeline_->AwaitIdle(give_up);
  if (!idle) pipeline_->WithdrawAll();
  // A reply that was started is not sent yet: one that is large, or whose
  // client reads slowly, takes its time.
  const bool replied = live_.AwaitNoneBegun(clock, give_up);

  going_down_ = true;
  // Closes the port at once, waits for replies that are being sent, then
  // cancels what is left.
  server_->Shutdown(std::chrono::system_clock::now() + kReplyGrace);
  // Armed calls come back now. A call whose unit is dispatched comes back when
  // that has returned: starting its reply on a queue that is shut down would
  // abort the process.
  live_.AwaitZero();
  queue_->Shutdown();
  pollers_.clear();
  life_cycle_->Watch(nullptr);
  server_.reset();
  queue_.reset();
  return idle && replied;
}

void DecisionServer::Poll() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) UnaryCall::HandleTag(tag, ok);
}

}  // namespace omni
