#include "runtime/server/decision_server.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/json/reader.h"
#include "runtime/server/server_harness.h"
#include "runtime/testing/fake_clock.h"
#include "runtime/testing/fake_worker.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::omni::testing::AsyncDecide;
using ::omni::testing::FakeClock;
using ::omni::testing::Fault;
using ::omni::testing::MakeBody;
using ::omni::testing::MakeRequest;
using ::omni::testing::MetadataOf;
using ::omni::testing::ReasonOf;
using ::omni::testing::ServerHarness;
using ::omni::testing::StatusIs;
using ::omni::testing::Step;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr size_t kMiB = 1 << 20;
constexpr char kPushback[] = "grpc-retry-pushback-ms";

grpc::Status Decide(v1::CuaS1::Stub& stub, const v1::DecideRequest& request,
                    v1::DecideResponse* response = nullptr) {
  grpc::ClientContext context;
  v1::DecideResponse ignored;
  return stub.Decide(&context, request,
                     response == nullptr ? &ignored : response);
}

grpc::Status DecideJson(v1::CuaS1::Stub& stub, const std::string& body,
                        std::string* response = nullptr) {
  grpc::ClientContext context;
  v1::DecideJsonRequest request;
  request.set_body(body);
  v1::DecideJsonResponse received;
  grpc::Status status = stub.DecideJson(&context, request, &received);
  if (response != nullptr) *response = received.body();
  return status;
}

v1::WorkerInfo GetInfo(v1::CuaS1::Stub& stub) {
  grpc::ClientContext context;
  v1::WorkerInfo info;
  const grpc::Status status = stub.GetInfo(&context, {}, &info);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return info;
}

// What health says about `service`; UNKNOWN for an error.
HealthCheckResponse::ServingStatus HealthOf(const ServerHarness& harness,
                                            const std::string& service) {
  const auto stub = Health::NewStub(harness.NewChannel());
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  return stub->Check(&context, request, &response).ok()
             ? response.status()
             : HealthCheckResponse::UNKNOWN;
}

// Waits until the server has been told that one caller is gone whose request
// is still in work.
void AwaitAbandoned(ServerHarness& harness) {
  while (harness.server().abandoned_calls() != 1) std::this_thread::yield();
}

TEST(DecisionServerTest, AnswersATypedRequest) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  v1::DecideResponse response;
  const grpc::Status status =
      Decide(*stub, MakeRequest("r", {"b", "a"}), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.model(), "fake@1");
  ASSERT_EQ(response.answers_size(), 2);
  EXPECT_EQ(response.answers(0).id(), "b");
  EXPECT_EQ(response.answers(0).choice().choice(), "yes");
  EXPECT_EQ(response.answers(1).id(), "a");
  EXPECT_THAT(harness.control().started(), ElementsAre("r/b", "r/a"));
  EXPECT_GT(response.timing().total_seconds(), 0);
}

TEST(DecisionServerTest, AnswersJsonWithJson) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  std::string text;
  const grpc::Status status = DecideJson(*stub, MakeBody("r"), &text);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_OK_AND_ASSIGN(const json::Value body, json::Read(text));
  ASSERT_NE(body.Find("answers"), nullptr);
  const json::Value* const answer = body.Find("answers")->Find("q");
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->Find("choice")->string(), "yes");
}

TEST(DecisionServerTest, BothMethodsGiveTheSameErrors) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  v1::DecideRequest typed = MakeRequest("r");
  typed.mutable_state()->set_raw_json("7");
  for (const grpc::Status& status :
       {Decide(*stub, typed),
        DecideJson(*stub, R"({"state":7,"questions":{}})")}) {
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(ReasonOf(status), "BAD_STATE");
  }
  typed.mutable_state()->set_raw_json("{");
  for (const grpc::Status& status :
       {Decide(*stub, typed), DecideJson(*stub, "{"), DecideJson(*stub, "[]"),
        DecideJson(*stub, "")}) {
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(ReasonOf(status), "MALFORMED_JSON");
  }
}

TEST(DecisionServerTest, InternalErrorsHideTheirCause) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Inject(Step::kFinish, "bad", Fault::kError);
  const grpc::Status status = Decide(*stub, MakeRequest("bad"));
  EXPECT_EQ(status.error_code(), grpc::INTERNAL);
  EXPECT_EQ(ReasonOf(status), "INTERNAL");
  EXPECT_THAT(status.error_message(), Not(HasSubstr("secret")));
}

TEST(DecisionServerTest, AThrowWhileATagIsHandledEndsThatCallAlone) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Inject(Step::kInfo, "", Fault::kThrow);
  // More often than calls are armed.
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    v1::WorkerInfo info;
    const grpc::Status status = stub->GetInfo(&context, {}, &info);
    EXPECT_EQ(status.error_code(), grpc::INTERNAL);
    EXPECT_EQ(ReasonOf(status), "INTERNAL");
    EXPECT_THAT(status.error_message(), Not(HasSubstr("secret")));
  }
  EXPECT_TRUE(Decide(*stub, MakeRequest("r")).ok());
  harness.StartDrain(absl::ZeroDuration(), absl::Hours(1));
  EXPECT_TRUE(harness.DrainResult());
}

TEST(DecisionServerTest, ALongErrorArrivesCutAndWithItsCode) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Inject(Step::kPrepare, "bad", Fault::kLongError);
  const grpc::Status status = Decide(*stub, MakeRequest("bad"));
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), SizeIs(1024));
}

TEST(DecisionServerTest, RequestsUpToTheLimitAreRead) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  std::string body = MakeBody("r");
  body.resize(4 * kMiB, ' ');
  EXPECT_TRUE(DecideJson(*stub, body).ok());
  v1::DecideRequest request = MakeRequest("r");
  // A state of 4 MiB and then as much less as the rest takes.
  request.mutable_state()->set_text(std::string(4 * kMiB, 'x'));
  const size_t excess = request.ByteSizeLong() - 4 * kMiB;
  request.mutable_state()->mutable_text()->resize(4 * kMiB - excess);
  ASSERT_EQ(request.ByteSizeLong(), 4 * kMiB);
  EXPECT_TRUE(Decide(*stub, request).ok());

  request.mutable_state()->mutable_text()->push_back('x');
  for (const grpc::Status& status :
       {DecideJson(*stub, body + " "), Decide(*stub, request)}) {
    EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
    EXPECT_EQ(ReasonOf(status), "BODY_TOO_LARGE");
    EXPECT_EQ(MetadataOf(status, "limit"), "4194304");
    EXPECT_EQ(MetadataOf(status, "actual"), "4194305");
  }
}

TEST(DecisionServerTest, LargeRequestsAreRefusedByUsAndHugeOnesByGrpc) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  const grpc::Status large = DecideJson(*stub, std::string(5 * kMiB, ' '));
  EXPECT_EQ(large.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(large), "BODY_TOO_LARGE");
  const grpc::Status huge = DecideJson(*stub, std::string(9 * kMiB, ' '));
  EXPECT_EQ(huge.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(huge), "");
  EXPECT_TRUE(Decide(*stub, MakeRequest("r")).ok());
}

TEST(DecisionServerTest, InvalidUtf8IsAnErrorInBothDirections) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  // In bytes it is ours to say so.
  v1::DecideRequest request = MakeRequest("r");
  request.mutable_state()->set_raw_json("\"\xFF\"");
  for (const grpc::Status& status :
       {Decide(*stub, request), DecideJson(*stub, "{\"state\":\"\xFF\"}")}) {
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(ReasonOf(status), "MALFORMED_JSON");
  }
  // In a string the message layer refuses before the service sees a call.
  request = MakeRequest("\xFF");
  EXPECT_EQ(Decide(*stub, request).error_code(), grpc::INTERNAL);
  // A response must not look sent when it cannot be read.
  harness.control().Inject(Step::kFinish, "bad", Fault::kBadUtf8);
  const grpc::Status status = Decide(*stub, MakeRequest("bad"));
  EXPECT_EQ(status.error_code(), grpc::INTERNAL);
  EXPECT_EQ(ReasonOf(status), "INTERNAL");
  EXPECT_TRUE(Decide(*stub, MakeRequest("r")).ok());
}

TEST(DecisionServerTest, InfoIsAnsweredWhileEverythingIsBusy) {
  ServerHarness harness({.max_pending = 2, .host_threads = 1});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  harness.control().Hold(Step::kPrepare);
  harness.control().Release(Step::kPrepare, "running");
  AsyncDecide running(stub.get(), MakeRequest("running"));
  harness.control().AwaitStarted("running/q");
  AsyncDecide preparing(stub.get(), MakeRequest("preparing"));
  harness.control().AwaitReached(Step::kPrepare, "preparing");
  EXPECT_EQ(Decide(*stub, MakeRequest("refused")).error_code(),
            grpc::RESOURCE_EXHAUSTED);
  const v1::WorkerInfo info = GetInfo(*stub);
  EXPECT_EQ(info.state(), v1::WORKER_STATE_READY);
  EXPECT_EQ(info.queue().depth(), 2u);
  EXPECT_EQ(info.queue().capacity(), 2u);
  EXPECT_EQ(info.queue().refused(), 1u);
  harness.control().ReleaseAll();
  EXPECT_TRUE(running.Wait().ok());
  EXPECT_TRUE(preparing.Wait().ok());
}

TEST(DecisionServerTest, AFullQueueRefusesAtOnceAndRecovers) {
  ServerHarness harness({.max_pending = 2});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide first(stub.get(), MakeRequest("first"));
  AsyncDecide second(stub.get(), MakeRequest("second"));
  harness.AwaitDepth(2);
  AsyncDecide third(stub.get(), MakeRequest("third"));
  const grpc::Status& refused = third.Wait();
  EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(refused), "QUEUE_FULL");
  EXPECT_EQ(MetadataOf(refused, "limit"), "2");
  EXPECT_EQ(third.Trailer(kPushback), "50");
  harness.control().ReleaseAll();
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_TRUE(Decide(*stub, MakeRequest("fourth")).ok());
}

TEST(DecisionServerTest, ThePushbackIsTheEstimatedWait) {
  FakeClock clock;
  ServerHarness harness({.max_pending = 1, .clock = &clock});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide first(stub.get(), MakeRequest("first"));
  harness.control().AwaitStarted("first/q");
  clock.Advance(absl::Milliseconds(700));
  harness.control().Release(Step::kUnit, "first");
  EXPECT_TRUE(first.Wait().ok());
  AsyncDecide second(stub.get(), MakeRequest("second"));
  harness.control().AwaitStarted("second/q");
  AsyncDecide third(stub.get(), MakeRequest("third"));
  third.Wait();
  EXPECT_EQ(third.Trailer(kPushback), "700");
  harness.control().ReleaseAll();
  EXPECT_TRUE(second.Wait().ok());
}

// A channel on which gRPC itself repeats what is refused.
std::shared_ptr<grpc::Channel> RetryingChannel(const ServerHarness& harness) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(R"({"methodConfig":[{"name":[{}],
      "retryPolicy":{"maxAttempts":5,"initialBackoff":"0.01s",
      "maxBackoff":"0.01s","backoffMultiplier":1,
      "retryableStatusCodes":["RESOURCE_EXHAUSTED","UNAVAILABLE"]}}]})");
  return harness.NewChannel(arguments);
}

TEST(DecisionServerTest, AClientThatRetriesGetsThroughAFullQueue) {
  ServerHarness harness({.max_pending = 1});
  const auto stub = harness.NewStub();
  const auto retrying = v1::CuaS1::NewStub(RetryingChannel(harness));
  harness.control().Hold(Step::kUnit);
  AsyncDecide first(stub.get(), MakeRequest("first"));
  harness.AwaitDepth(1);
  AsyncDecide second(retrying.get(), MakeRequest("second"));
  while (harness.pipeline().Info().queue().refused() == 0) {
    std::this_thread::yield();
  }
  harness.control().ReleaseAll();
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_TRUE(second.Wait().ok()) << second.Wait().error_message();
}

TEST(DecisionServerTest, AClientThatRetriesIsToldNotTo) {
  ServerHarness harness;
  harness.control().Inject(Step::kUnit, "bad", Fault::kExecutorFailed);
  const auto stub = harness.NewStub();
  EXPECT_FALSE(Decide(*stub, MakeRequest("bad")).ok());
  const auto retrying = v1::CuaS1::NewStub(RetryingChannel(harness));
  const int before = harness.decides_armed();
  AsyncDecide refused(retrying.get(), MakeRequest("r"));
  EXPECT_EQ(refused.Wait().error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(refused.Trailer(kPushback), "-1");
  // And heeds it.
  EXPECT_EQ(harness.decides_armed(), before + 1);
}

TEST(DecisionServerTest, ACancelledWaiterLeavesTheQueueAndIsNeverDispatched) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide first(stub.get(), MakeRequest("first"));
  harness.control().AwaitStarted("first/q");
  AsyncDecide second(stub.get(), MakeRequest("second"));
  harness.control().AwaitUnitOf("second");
  AsyncDecide third(stub.get(), MakeRequest("third"));
  harness.control().AwaitUnitOf("third");
  second.Cancel();
  EXPECT_EQ(second.Wait().error_code(), grpc::CANCELLED);
  // While the first one still runs.
  harness.control().AwaitNoUnitOf("second");
  harness.AwaitDepth(2);
  harness.control().ReleaseAll();
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_TRUE(third.Wait().ok());
  EXPECT_THAT(harness.control().started(), ElementsAre("first/q", "third/q"));
}

TEST(DecisionServerTest, CancellingADispatchedUnitLetsItRunOut) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide first(stub.get(), MakeRequest("first", {"1", "2"}));
  harness.control().AwaitStarted("first/1");
  AsyncDecide second(stub.get(), MakeRequest("second"));
  harness.control().AwaitUnitOf("second");
  first.Cancel();
  EXPECT_EQ(first.Wait().error_code(), grpc::CANCELLED);
  AwaitAbandoned(harness);
  EXPECT_EQ(harness.pipeline().Info().queue().depth(), 2u);
  harness.control().ReleaseAll();
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_THAT(harness.control().started(), ElementsAre("first/1", "second/q"));
}

TEST(DecisionServerTest, CancellingDuringPrepareSubmitsNothing) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kPrepare);
  AsyncDecide call(stub.get(), MakeRequest("r"));
  harness.control().AwaitReached(Step::kPrepare, "r");
  call.Cancel();
  EXPECT_EQ(call.Wait().error_code(), grpc::CANCELLED);
  AwaitAbandoned(harness);
  harness.control().ReleaseAll();
  harness.AwaitDepth(0);
  EXPECT_THAT(harness.control().started(), IsEmpty());
}

TEST(DecisionServerTest, CancellingWhileTheReplyIsMadeIsHarmless) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kFinish);
  AsyncDecide call(stub.get(), MakeRequest("r"));
  harness.control().AwaitReached(Step::kFinish, "r");
  call.Cancel();
  EXPECT_EQ(call.Wait().error_code(), grpc::CANCELLED);
  harness.control().ReleaseAll();
  EXPECT_TRUE(Decide(*stub, MakeRequest("other")).ok());
}

TEST(DecisionServerTest, CancellingWhileTheReplyIsSentIsHarmless) {
  ServerHarness harness({.pollers = 2});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kFinish);
  for (int i = 0; i < 200; ++i) {
    const std::string name = "r" + std::to_string(i);
    AsyncDecide call(stub.get(), MakeRequest(name));
    harness.control().AwaitReached(Step::kFinish, name);
    harness.control().Release(Step::kFinish, name);
    call.Cancel();
    const grpc::Status& status = call.Wait();
    EXPECT_TRUE(status.ok() || status.error_code() == grpc::CANCELLED);
  }
}

TEST(DecisionServerTest, AClientsDeadlineEndsAWaiter) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide first(stub.get(), MakeRequest("first"));
  harness.control().AwaitStarted("first/q");
  AsyncDecide second(stub.get(), MakeRequest("second"),
                     std::chrono::milliseconds(200));
  EXPECT_EQ(second.Wait().error_code(), grpc::DEADLINE_EXCEEDED);
  harness.control().AwaitNoUnitOf("second");
  harness.AwaitDepth(1);
  harness.control().ReleaseAll();
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_THAT(harness.control().started(), ElementsAre("first/q"));
}

// The server's clock alone reaches the deadline in these tests: whether a
// client's own clock does so before the server has the request is not theirs.
// gRPC may round a deadline up on its way.
TEST(DecisionServerTest, AClientsDeadlineDuringPrepareSubmitsNothing) {
  FakeClock clock;
  ServerHarness harness({.clock = &clock});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kPrepare);
  AsyncDecide call(stub.get(), MakeRequest("r"), std::chrono::hours(1));
  harness.control().AwaitReached(Step::kPrepare, "r");
  clock.Advance(absl::Hours(2));
  harness.control().ReleaseAll();
  EXPECT_EQ(call.Wait().error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_THAT(harness.control().started(), IsEmpty());
}

TEST(DecisionServerTest, AClientsDeadlineInAUnitLetsItRunOut) {
  FakeClock clock;
  ServerHarness harness({.clock = &clock});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide call(stub.get(), MakeRequest("r", {"1", "2"}),
                   std::chrono::hours(1));
  harness.control().AwaitStarted("r/1");
  clock.Advance(absl::Hours(2));
  EXPECT_EQ(harness.pipeline().Info().queue().depth(), 1u);
  EXPECT_EQ(harness.control().live_units(), 1);
  harness.control().ReleaseAll();
  EXPECT_EQ(call.Wait().error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_EQ(ReasonOf(call.Wait()), "DEADLINE_PASSED");
  EXPECT_THAT(harness.control().started(), ElementsAre("r/1"));
}

TEST(DecisionServerTest, ACallWithoutDeadlineGetsSixtySeconds) {
  FakeClock clock;
  ServerHarness harness({.clock = &clock});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide busy(stub.get(), MakeRequest("busy"), std::chrono::hours(1));
  harness.control().AwaitStarted("busy/q");
  AsyncDecide call(stub.get(), MakeRequest("r"));
  harness.control().AwaitUnitOf("r");
  clock.Advance(absl::Seconds(59));
  EXPECT_EQ(harness.pipeline().Info().queue().depth(), 2u);
  clock.Advance(absl::Seconds(1));
  const grpc::Status& status = call.Wait();
  EXPECT_EQ(status.error_code(), grpc::DEADLINE_EXCEEDED);
  // It was the server that said so.
  EXPECT_EQ(ReasonOf(status), "DEADLINE_PASSED");
  harness.control().ReleaseAll();
  EXPECT_TRUE(busy.Wait().ok());
}

TEST(DecisionServerTest, AFarDeadlineDoesNotOverflow) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::hours(24 * 365 * 100));
  v1::DecideResponse response;
  EXPECT_TRUE(stub->Decide(&context, MakeRequest("r"), &response).ok());
}

TEST(DecisionServerTest, HealthKnowsBothNamesAndNoOther) {
  ServerHarness harness;
  EXPECT_EQ(HealthOf(harness, ""), HealthCheckResponse::SERVING);
  EXPECT_EQ(HealthOf(harness, "omni.v1.CuaS1"), HealthCheckResponse::SERVING);
  const auto stub = Health::NewStub(harness.NewChannel());
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service("omni.v1.Laya");
  HealthCheckResponse response;
  EXPECT_EQ(stub->Check(&context, request, &response).error_code(),
            grpc::NOT_FOUND);
}

TEST(DecisionServerTest, AFailedExecutorTurnsHealthBeforeAnyReply) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  const auto health = Health::NewStub(harness.NewChannel());
  grpc::ClientContext watch_context;
  HealthCheckRequest request;
  request.set_service("omni.v1.CuaS1");
  const auto watch = health->Watch(&watch_context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);

  harness.control().Hold(Step::kUnit);
  harness.control().Inject(Step::kUnit, "bad", Fault::kThrow);
  AsyncDecide bad(stub.get(), MakeRequest("bad"));
  harness.control().AwaitStarted("bad/q");
  AsyncDecide waiting(stub.get(), MakeRequest("waiting"));
  harness.control().AwaitUnitOf("waiting");
  harness.control().ReleaseAll();
  EXPECT_EQ(bad.Wait().error_code(), grpc::INTERNAL);
  EXPECT_EQ(HealthOf(harness, "omni.v1.CuaS1"),
            HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(HealthOf(harness, ""), HealthCheckResponse::NOT_SERVING);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  watch_context.TryCancel();

  EXPECT_EQ(waiting.Wait().error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(waiting.Wait()), "EXECUTOR_FAILED");
  EXPECT_EQ(ReasonOf(Decide(*stub, MakeRequest("later"))), "EXECUTOR_FAILED");
  EXPECT_THAT(harness.control().started(), ElementsAre("bad/q"));
  const v1::WorkerInfo info = GetInfo(*stub);
  EXPECT_EQ(info.state(), v1::WORKER_STATE_FAILED);
  EXPECT_THAT(info.failure(), HasSubstr("threw"));
}

TEST(DecisionServerTest, TwoServersDoNotShareAPort) {
  ServerHarness first;
  LifeCycle life_cycle;
  const auto second =
      DecisionServer::Start({.address = first.address()},
                            std::make_unique<ServiceBindingOf<v1::CuaS1>>(),
                            &first.pipeline(), &life_cycle);
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr(first.address())));
}

TEST(DecisionServerTest, ServesOnDuringTheDrainDelay) {
  FakeClock clock;
  ServerHarness harness({.clock = &clock});
  const auto stub = harness.NewStub();
  const auto health = Health::NewStub(harness.NewChannel());
  grpc::ClientContext watch_context;
  const auto watch = health->Watch(&watch_context, HealthCheckRequest());
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));

  harness.control().Hold(Step::kUnit);
  AsyncDecide early(stub.get(), MakeRequest("early"));
  harness.control().AwaitStarted("early/q");
  harness.StartDrain(absl::Seconds(5), absl::Hours(1));
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(GetInfo(*stub).state(), v1::WORKER_STATE_DRAINING);
  // Accepted all the same.
  EXPECT_TRUE(Decide(*stub, MakeRequest("during", {})).ok());

  clock.Advance(absl::Seconds(5));
  // Requests without units do not wait for the one that runs.
  grpc::Status late;
  while (late.ok()) late = Decide(*stub, MakeRequest("late", {}));
  EXPECT_EQ(late.error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(late), "DRAINING");
  AsyncDecide retry(stub.get(), MakeRequest("late"));
  retry.Wait();
  EXPECT_EQ(retry.Trailer(kPushback), "-1");

  harness.control().ReleaseAll();
  EXPECT_TRUE(early.Wait().ok());
  EXPECT_TRUE(harness.DrainResult());
}

TEST(DecisionServerTest, AcceptedRequestsFinishWithAllTheirQuestions) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide first(stub.get(), MakeRequest("first", {"1", "2", "3"}));
  harness.control().AwaitStarted("first/1");
  AsyncDecide second(stub.get(), MakeRequest("second", {"1", "2"}));
  harness.control().AwaitUnitOf("second");
  harness.StartDrain(absl::ZeroDuration(), absl::Hours(1));
  grpc::Status late;
  while (late.ok()) late = Decide(*stub, MakeRequest("late", {}));
  harness.control().ReleaseAll();
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_EQ(first.response().answers_size(), 3);
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_EQ(second.response().answers_size(), 2);
  EXPECT_TRUE(harness.DrainResult());
}

TEST(DecisionServerTest, TheDrainTimeoutWithdrawsWaitersAndNoRunningUnit) {
  FakeClock clock;
  ServerHarness harness({.clock = &clock});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  AsyncDecide running(stub.get(), MakeRequest("running", {"1", "2"}),
                      std::chrono::hours(1));
  harness.control().AwaitStarted("running/1");
  AsyncDecide waiting(stub.get(), MakeRequest("waiting"),
                      std::chrono::hours(1));
  harness.control().AwaitUnitOf("waiting");
  harness.StartDrain(absl::ZeroDuration(), absl::Seconds(10));
  grpc::Status late;
  while (late.ok()) late = Decide(*stub, MakeRequest("late", {}));
  clock.Advance(absl::Seconds(10));
  EXPECT_EQ(waiting.Wait().error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(waiting.Wait()), "DRAINING");
  // Its unit is longer than the server's patience with it.
  EXPECT_EQ(running.Wait().error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(harness.control().live_units(), 1);
  // All calls but that one are over. If the queue did not wait for it, the
  // reply would now find it shut down.
  while (harness.server().live_calls() > 1) {
    std::this_thread::yield();
  }
  harness.control().ReleaseAll();
  EXPECT_FALSE(harness.DrainResult());
  EXPECT_THAT(harness.control().started(), ElementsAre("running/1"));
}

TEST(DecisionServerTest, ADrainDoesNotWaitForWhoOnlyWatches) {
  ServerHarness harness;
  const auto health = Health::NewStub(harness.NewChannel());
  grpc::ClientContext context;
  const auto watch = health->Watch(&context, HealthCheckRequest());
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  harness.StartDrain(absl::ZeroDuration(), absl::Hours(1));
  EXPECT_TRUE(harness.DrainResult());
  while (watch->Read(&response)) {
    EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  }
  EXPECT_EQ(watch->Finish().error_code(), grpc::UNAVAILABLE);
}

TEST(DecisionServerTest, MoreCallsThanAreArmedAreAnswered) {
  ServerHarness harness({.max_pending = 200});
  const auto stub = harness.NewStub();
  harness.control().Hold(Step::kUnit);
  std::vector<std::unique_ptr<AsyncDecide>> calls;
  for (int i = 0; i < 100; ++i) {
    calls.push_back(std::make_unique<AsyncDecide>(
        stub.get(), MakeRequest("r" + std::to_string(i))));
  }
  harness.AwaitDepth(100);
  harness.control().ReleaseAll();
  for (const auto& call : calls) EXPECT_TRUE(call->Wait().ok());
}

}  // namespace
}  // namespace omni
