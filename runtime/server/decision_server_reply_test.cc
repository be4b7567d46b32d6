// Replies that are on their way when something else happens.

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/server/server_harness.h"
#include "runtime/testing/fake_clock.h"
#include "runtime/testing/fake_worker.h"

namespace omni {
namespace {

using ::omni::testing::AsyncDecide;
using ::omni::testing::FakeClock;
using ::omni::testing::MakeRequest;
using ::omni::testing::ReasonOf;
using ::omni::testing::ServerHarness;
using ::omni::testing::Step;

grpc::Status Decide(v1::CuaS1::Stub& stub, const std::string& name) {
  AsyncDecide call(&stub, MakeRequest(name, {}));
  return call.Wait();
}

// A call whose client takes the head of the reply and not its body, which is
// larger than what the connection holds without a reader.
class UnreadDecide {
 public:
  explicit UnreadDecide(
      const ServerHarness& harness,
      std::chrono::milliseconds timeout = std::chrono::hours(1))
      : stub_(v1::CuaS1::NewStub(SmallWindow(harness))) {
    context_.set_deadline(std::chrono::system_clock::now() + timeout);
    reader_ = stub_->AsyncDecide(
        &context_, MakeRequest("unread", {std::string(kBytes, 'q')}), &queue_);
    reader_->ReadInitialMetadata(&head_);
  }
  // Waits for the head of the reply, or for the end of the call.
  void AwaitHead() { EXPECT_EQ(Next(), &head_); }
  // Reads the rest.
  grpc::Status Finish() {
    grpc::Status status;
    reader_->Finish(&response_, &status, &rest_);
    EXPECT_EQ(Next(), &rest_);
    queue_.Shutdown();
    EXPECT_EQ(Next(), nullptr);
    return status;
  }
  bool complete() const {
    return response_.answers_size() == 1 &&
           response_.answers(0).id().size() == kBytes;
  }

 private:
  static constexpr size_t kBytes = size_t{3} << 20;

  static std::shared_ptr<grpc::Channel> SmallWindow(
      const ServerHarness& harness) {
    grpc::ChannelArguments arguments;
    // Otherwise the window grows with what the connection could bear.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return harness.NewChannel(arguments);
  }
  void* Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) ? tag : nullptr;
  }

  const std::unique_ptr<v1::CuaS1::Stub> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  v1::DecideResponse response_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::DecideResponse>> reader_;
  int head_ = 0;
  int rest_ = 0;
};

TEST(DecisionServerReplyTest, ADrainLetsASlowClientReadItsReply) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  UnreadDecide unread(harness);
  unread.AwaitHead();
  harness.StartDrain(absl::ZeroDuration(), absl::Hours(1));
  grpc::Status late;
  while (late.ok()) late = Decide(*stub, "late");
  // The port stays open: without requests nothing else keeps it.
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(ReasonOf(Decide(*stub, "late")), "DRAINING");
  }
  EXPECT_TRUE(unread.Finish().ok());
  EXPECT_TRUE(unread.complete());
  EXPECT_TRUE(harness.DrainResult());
}

TEST(DecisionServerReplyTest, AReplyThatTheDrainCutsIsToldInItsResult) {
  FakeClock clock;
  ServerHarness harness({.clock = &clock});
  UnreadDecide unread(harness);
  unread.AwaitHead();
  // The request is over but for the reply.
  EXPECT_TRUE(harness.pipeline().AwaitIdle(absl::InfiniteFuture()));
  harness.StartDrain(absl::ZeroDuration(), absl::Seconds(10));
  while (harness.life_cycle().state() != v1::WORKER_STATE_DRAINING) {
    std::this_thread::yield();
  }
  clock.Advance(absl::Seconds(10));
  EXPECT_FALSE(harness.DrainResult());
  EXPECT_FALSE(unread.Finish().ok());
}

TEST(DecisionServerReplyTest,
     ADeadlineThatPassesWhileTheReplyIsMadeIsHarmless) {
  FakeClock clock;
  ServerHarness harness({.clock = &clock});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kFinish);
  AsyncDecide call(stub.get(), MakeRequest("r"), std::chrono::hours(1));
  harness.control().AwaitReached(Step::kFinish, "r");
  clock.Advance(absl::Hours(2));
  harness.control().ReleaseAll();
  // The answer is there and the client still waits for it.
  EXPECT_TRUE(call.Wait().ok());
}

TEST(DecisionServerReplyTest,
     ADeadlineThatPassesWhileTheReplyIsSentEndsTheCall) {
  ServerHarness harness;
  const int armed = harness.server().live_calls();
  // Enough to get there; if it is not, the call ends earlier.
  UnreadDecide unread(harness, std::chrono::milliseconds(500));
  // The reply is queued as long as nobody reads it, so it is the deadline that
  // ends the call.
  unread.AwaitHead();
  while (harness.server().live_calls() != armed) std::this_thread::yield();
  EXPECT_EQ(unread.Finish().error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Decide(*harness.NewStub(), "other").ok());
}

}  // namespace
}  // namespace omni
