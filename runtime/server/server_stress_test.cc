#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/server/server_harness.h"

namespace omni {
namespace {

using ::omni::testing::MakeRequest;
using ::omni::testing::ServerHarness;

constexpr int kCalls = 10'000;
constexpr size_t kOutstanding = 64;

struct Call {
  grpc::ClientContext context;
  v1::DecideResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::DecideResponse>> reader;
  int questions = 0;
  bool may_end_early = false;
};

// Calls that are cancelled at random moments, run out of time, are refused by a
// full queue, or go through. What is left at the end is for the harness to
// check: no call, no unit, no decision.
TEST(ServerStressTest, RandomCancelsLeaveNothingBehind) {
  ServerHarness harness({.max_pending = 48, .pollers = 2});
  const std::unique_ptr<v1::CuaS1::Stub> stubs[] = {harness.NewStub(),
                                                    harness.NewStub()};
  std::mt19937 random(20240607);
  const auto one_in = [&random](int n) { return random() % n == 0; };
  grpc::CompletionQueue queue;
  std::vector<Call*> live;
  int answered = 0;
  int refused = 0;
  int ended_early = 0;

  const auto finish_one = [&] {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    const std::unique_ptr<Call> call(static_cast<Call*>(tag));
    std::erase(live, call.get());
    switch (call->status.error_code()) {
      case grpc::OK:
        EXPECT_EQ(call->response.answers_size(), call->questions);
        ++answered;
        break;
      case grpc::RESOURCE_EXHAUSTED:
        ++refused;
        break;
      case grpc::CANCELLED:
      case grpc::DEADLINE_EXCEEDED:
        EXPECT_TRUE(call->may_end_early);
        ++ended_early;
        break;
      default:
        ADD_FAILURE() << call->status.error_message();
    }
  };

  for (int i = 0; i < kCalls; ++i) {
    auto* const call = new Call;
    call->questions = 1 + static_cast<int>(random() % 3);
    std::vector<std::string> ids;
    for (int q = 0; q < call->questions; ++q) ids.push_back(std::to_string(q));
    if (one_in(8)) {
      call->may_end_early = true;
      call->context.set_deadline(std::chrono::system_clock::now() +
                                 std::chrono::microseconds(random() % 3000));
    }
    call->reader = stubs[i % 2]->AsyncDecide(&call->context,
                                             MakeRequest("r", ids), &queue);
    call->reader->Finish(&call->response, &call->status, call);
    live.push_back(call);
    if (one_in(3)) {
      Call* const victim = live[random() % live.size()];
      victim->may_end_early = true;
      victim->context.TryCancel();
    }
    while (live.size() >= kOutstanding) finish_one();
  }
  while (!live.empty()) finish_one();
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  EXPECT_FALSE(queue.Next(&tag, &ok));

  EXPECT_EQ(answered + refused + ended_early, kCalls);
  EXPECT_GT(answered, 0);
  EXPECT_GT(refused, 0);
  EXPECT_GT(ended_early, 0);
  harness.AwaitDepth(0);
}

}  // namespace
}  // namespace omni
