#include "runtime/server/server_harness.h"

#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/server/service_binding.h"

namespace omni::testing {
namespace {

google::rpc::ErrorInfo ErrorInfoOf(const grpc::Status& status) {
  google::rpc::Status rich;
  google::rpc::ErrorInfo info;
  if (rich.ParseFromString(status.error_details()) &&
      rich.details_size() == 1) {
    rich.details(0).UnpackTo(&info);
  }
  return info;
}

// Counts the Decide calls that are armed.
class CountingBinding final : public ServiceBinding {
 public:
  explicit CountingBinding(std::atomic<int>* decides) : decides_(decides) {}

  grpc::Service* service() override { return binding_.service(); }
  std::string full_name() const override { return binding_.full_name(); }
  void RequestDecide(grpc::ServerContext* context, v1::DecideRequest* request,
                     Responder<v1::DecideResponse>* responder,
                     grpc::ServerCompletionQueue* queue, void* tag) override {
    ++*decides_;
    binding_.RequestDecide(context, request, responder, queue, tag);
  }
  void RequestDecideJson(grpc::ServerContext* context,
                         v1::DecideJsonRequest* request,
                         Responder<v1::DecideJsonResponse>* responder,
                         grpc::ServerCompletionQueue* queue,
                         void* tag) override {
    binding_.RequestDecideJson(context, request, responder, queue, tag);
  }
  void RequestGetInfo(grpc::ServerContext* context, v1::GetInfoRequest* request,
                      Responder<v1::WorkerInfo>* responder,
                      grpc::ServerCompletionQueue* queue, void* tag) override {
    binding_.RequestGetInfo(context, request, responder, queue, tag);
  }

 private:
  std::atomic<int>* const decides_;
  ServiceBindingOf<v1::CuaS1> binding_;
};

}  // namespace

ServerHarness::ServerHarness(Options options) {
  auto pipeline =
      Pipeline::Create(std::make_unique<FakeWorker>(control_), &life_cycle_,
                       {.max_pending = options.max_pending,
                        .host_threads = options.host_threads,
                        .clock = options.clock});
  CHECK(pipeline.ok()) << pipeline.status().ToString();
  pipeline_ = *std::move(pipeline);
  CHECK(life_cycle_.MoveTo(v1::WORKER_STATE_WARMING).ok());
  CHECK(life_cycle_.MoveTo(v1::WORKER_STATE_READY).ok());
  auto server = DecisionServer::Start(
      {.address = "127.0.0.1:0", .pollers = options.pollers},
      std::make_unique<CountingBinding>(&decides_armed_), pipeline_.get(),
      &life_cycle_);
  CHECK(server.ok()) << server.status().ToString();
  server_ = *std::move(server);
}

ServerHarness::~ServerHarness() {
  control_->ReleaseAll();
  if (!drained_) StartDrain(absl::ZeroDuration(), absl::ZeroDuration());
  DrainResult();
  EXPECT_EQ(server_->live_calls(), 0);
  server_.reset();
  pipeline_.reset();
  EXPECT_EQ(control_->live_units(), 0);
  EXPECT_EQ(control_->live_decisions(), 0);
  EXPECT_TRUE(control_->executor_destroyed());
  EXPECT_TRUE(control_->one_executor_thread());
  EXPECT_LE(control_->max_running(), 1);
}

std::shared_ptr<grpc::Channel> ServerHarness::NewChannel(
    const grpc::ChannelArguments& arguments) const {
  grpc::ChannelArguments own = arguments;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(server_->address(),
                                   grpc::InsecureChannelCredentials(), own);
}

void ServerHarness::StartDrain(absl::Duration delay, absl::Duration timeout) {
  drained_ = true;
  auto thread = Thread::Start("drain", [this, delay, timeout] {
    drain_result_ = server_->Drain(delay, timeout);
  });
  CHECK(thread.ok()) << thread.status().ToString();
  drain_thread_ = *std::move(thread);
}

bool ServerHarness::DrainResult() {
  drain_thread_.Join();
  return drain_result_;
}

void ServerHarness::AwaitDepth(int depth) const {
  while (static_cast<int>(pipeline_->Info().queue().depth()) != depth) {
    std::this_thread::yield();
  }
}

v1::DecideRequest MakeRequest(const std::string& name,
                              const std::vector<std::string>& ids) {
  v1::DecideRequest request;
  request.set_model("fake");
  request.mutable_state()->set_text(name);
  for (const std::string& id : ids) {
    v1::Question& question = *request.add_questions();
    question.set_id(id);
    question.mutable_instructions()->mutable_null();
    for (const char* label : {"yes", "no"}) {
      v1::Option& option = *question.mutable_choice()->add_options();
      option.set_label(label);
      option.mutable_description()->mutable_null();
    }
  }
  return request;
}

std::string MakeBody(const std::string& name,
                     const std::vector<std::string>& ids) {
  std::string body =
      absl::StrFormat(R"({"model":"fake","state":"%s","questions":{)", name);
  for (size_t i = 0; i < ids.size(); ++i) {
    body += absl::StrFormat(R"(%s"%s":{"type":"choice","instructions":null,)"
                            R"("criteria":{"yes":null,"no":null}})",
                            i == 0 ? "" : ",", ids[i]);
  }
  return body + "}}";
}

AsyncDecide::AsyncDecide(v1::CuaS1::Stub* stub,
                         const v1::DecideRequest& request,
                         std::optional<std::chrono::milliseconds> timeout) {
  if (timeout.has_value()) {
    context_.set_deadline(std::chrono::system_clock::now() + *timeout);
  }
  reader_ = stub->AsyncDecide(&context_, request, &queue_);
  reader_->Finish(&response_, &status_, this);
}

AsyncDecide::~AsyncDecide() {
  if (!waited_) {
    Cancel();
    Wait();
  }
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  EXPECT_FALSE(queue_.Next(&tag, &ok));
}

const grpc::Status& AsyncDecide::Wait() {
  if (!waited_) {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
    waited_ = true;
  }
  return status_;
}

std::string AsyncDecide::Trailer(const std::string& key) const {
  const auto& trailers = context_.GetServerTrailingMetadata();
  const auto found = trailers.find(key);
  return found == trailers.end()
             ? ""
             : std::string(found->second.data(), found->second.size());
}

std::string ReasonOf(const grpc::Status& status) {
  return ErrorInfoOf(status).reason();
}

std::string MetadataOf(const grpc::Status& status, const std::string& key) {
  const google::rpc::ErrorInfo info = ErrorInfoOf(status);
  const auto found = info.metadata().find(key);
  return found == info.metadata().end() ? "" : found->second;
}

}  // namespace omni::testing
