#include "runtime/server/unary_call.h"

#include <memory>
#include <stdexcept>
#include <string>

#include "absl/synchronization/notification.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/base/thread.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

// What the test and a call tell each other.
struct Events {
  absl::Notification begun;
  absl::Notification caller_gone;
};

// Throws when its caller goes; finished by the test.
class ThrowingCall final
    : public TypedUnaryCall<v1::GetInfoRequest, v1::WorkerInfo> {
 public:
  ThrowingCall(LiveCalls* live, v1::CuaS1::AsyncService* service,
               grpc::ServerCompletionQueue* queue, Events* events)
      : TypedUnaryCall(live),
        service_(service),
        queue_(queue),
        events_(events) {}

  void End() { FinishOnce(absl::OkStatus()); }

 private:
  void RequestMethod(void* tag) override {
    service_->RequestGetInfo(&context(), &request_, &responder_, queue_, queue_,
                             tag);
  }
  void ArmReplacement() override {}
  void OnRequest() override { events_->begun.Notify(); }
  void OnCallerGone() override {
    events_->caller_gone.Notify();
    throw std::runtime_error("thrown on purpose");
  }

  v1::CuaS1::AsyncService* const service_;
  grpc::ServerCompletionQueue* const queue_;
  Events* const events_;
};

TEST(UnaryCallTest, AThrowWhenTheCallerGoesDoesNotKeepTheCall) {
  v1::CuaS1::AsyncService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  LiveCalls live;
  Events events;
  auto* const call = new ThrowingCall(&live, &service, queue.get(), &events);
  call->Arm();
  ASSERT_OK_AND_ASSIGN(Thread poller, Thread::Start("poller", [&queue] {
                         void* tag = nullptr;
                         bool ok = false;
                         while (queue->Next(&tag, &ok)) {
                           UnaryCall::HandleTag(tag, ok);
                         }
                       }));

  const auto stub = v1::CuaS1::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  ASSERT_OK_AND_ASSIGN(Thread canceller,
                       Thread::Start("canceller", [&events, &context] {
                         events.begun.WaitForNotification();
                         context.TryCancel();
                       }));
  v1::WorkerInfo info;
  EXPECT_EQ(stub->GetInfo(&context, {}, &info).error_code(), grpc::CANCELLED);
  events.caller_gone.WaitForNotification();
  // The call is there as long as it is not finished, and no longer.
  EXPECT_EQ(live.count(), 1);
  call->End();
  live.AwaitZero();
  EXPECT_EQ(live.abandoned(), 0);

  server->Shutdown();
  queue->Shutdown();
  poller.Join();
}

}  // namespace
}  // namespace omni
