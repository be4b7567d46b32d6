#include "runtime/server/decision_server.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/json/reader.h"
#include "runtime/server/server_harness.h"
#include "runtime/testing/fake_worker.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::AsyncDecide;
using ::omni::testing::FakeWorkerControl;
using ::omni::testing::Fault;
using ::omni::testing::MakeBody;
using ::omni::testing::MakeRequest;
using ::omni::testing::MetadataOf;
using ::omni::testing::ReasonOf;
using ::omni::testing::ServerHarness;
using ::omni::testing::Step;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DecisionServerTest, AnswersATypedRequest) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  grpc::ClientContext context;
  v1::DecideResponse response;
  const grpc::Status status =
      stub->Decide(&context, MakeRequest("r", {"b", "a"}), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.model(), "fake@1");
  ASSERT_EQ(response.answers_size(), 2);
  EXPECT_EQ(response.answers(0).id(), "b");
  EXPECT_EQ(response.answers(0).choice().choice(), "yes");
  EXPECT_EQ(response.answers(1).id(), "a");
  EXPECT_THAT(harness.control().started(), ElementsAre("r/b", "r/a"));
  EXPECT_GT(response.timing().prepare_seconds(), 0);
  EXPECT_GT(response.timing().queue_seconds(), 0);
  EXPECT_GT(response.timing().execute_seconds(), 0);
  EXPECT_GE(response.timing().total_seconds(),
            response.timing().prepare_seconds() +
                response.timing().queue_seconds() +
                response.timing().execute_seconds());
}

TEST(DecisionServerTest, AnswersJsonWithJson) {
  ServerHarness harness;
  const auto stub = harness.NewStub();
  grpc::ClientContext context;
  v1::DecideJsonRequest request;
  request.set_body(MakeBody("r", {"q"}));
  v1::DecideJsonResponse response;
  const grpc::Status status = stub->DecideJson(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_OK_AND_ASSIGN(const json::Value body, json::Read(response.body()));
  ASSERT_NE(body.Find("answers"), nullptr);
  const json::Value* const answer = body.Find("answers")->Find("q");
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->Find("choice")->string(), "yes");
}

}  // namespace
}  // namespace omni
