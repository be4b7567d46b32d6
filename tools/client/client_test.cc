#include "tools/client/client.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "omni/v1/open_jev.grpc.pb.h"

namespace omni {
namespace {

using ::grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers with what the test put in, and keeps what it was asked.
class FakeCuaS1 : public v1::CuaS1::Service {
 public:
  grpc::Status DecideJson(grpc::ServerContext* context,
                          const v1::DecideJsonRequest* request,
                          v1::DecideJsonResponse* response) override {
    body = request->body();
    has_deadline =
        context->deadline() != std::chrono::system_clock::time_point::max();
    response->set_body(answer);
    return status;
  }

  grpc::Status GetInfo(grpc::ServerContext*, const v1::GetInfoRequest*,
                       v1::WorkerInfo* info) override {
    info->set_model("the-model");
    info->mutable_queue()->set_capacity(64);
    return status;
  }

  std::string body;
  std::string answer = "{}";
  bool has_deadline = false;
  grpc::Status status;
};

class FakeOpenJev : public v1::OpenJev::Service {
 public:
  grpc::Status DecideJson(grpc::ServerContext*, const v1::DecideJsonRequest*,
                          v1::DecideJsonResponse* response) override {
    response->set_body("from open-jev");
    return grpc::Status::OK;
  }
};

class FakeHealth : public grpc::health::v1::Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext*,
                     const grpc::health::v1::HealthCheckRequest* request,
                     HealthCheckResponse* response) override {
    const auto found = states.find(request->service());
    if (found == states.end()) {
      return {grpc::StatusCode::NOT_FOUND, "unknown service"};
    }
    response->set_status(found->second);
    return grpc::Status::OK;
  }

  std::map<std::string, HealthCheckResponse::ServingStatus> states;
};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(&cua_s1_);
    builder.RegisterService(&open_jev_);
    builder.RegisterService(&health_);
    server_ = builder.BuildAndStart();
    options_.address = "127.0.0.1:" + std::to_string(port);
  }

  int Run(std::vector<std::string> arguments) {
    options_.arguments = std::move(arguments);
    std::istringstream in(input_);
    std::ostringstream out;
    std::ostringstream err;
    const int code = RunClient(options_, in, out, err);
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  FakeCuaS1 cua_s1_;
  FakeOpenJev open_jev_;
  FakeHealth health_;
  std::unique_ptr<grpc::Server> server_;
  ClientOptions options_;
  std::string input_;
  std::string out_;
  std::string err_;
};

TEST_F(ClientTest, DecideSendsStandardInputAndPrintsTheAnswerUnchanged) {
  input_ = std::string("{\"b\": 1.0,\n \"a\": \0}", 19);
  cua_s1_.answer = "{\"answers\": {\"q\": 1.0}}";
  EXPECT_EQ(Run({"decide", "-"}), 0);
  EXPECT_EQ(cua_s1_.body, input_);
  EXPECT_EQ(out_, cua_s1_.answer + "\n");
  EXPECT_EQ(err_, "");
}

TEST_F(ClientTest, DecideReadsAFile) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "request.json";
  // More than one block of the reader.
  const std::string body(200000, 'x');
  std::ofstream(path, std::ios::binary) << body;
  EXPECT_EQ(Run({"decide", path.string()}), 0);
  EXPECT_EQ(cua_s1_.body, body);
}

TEST_F(ClientTest, DecideTakesAResponseBeyondTheDefaultLimit) {
  cua_s1_.answer = std::string(5 << 20, 'y');
  EXPECT_EQ(Run({"decide", "-"}), 0);
  EXPECT_EQ(out_.size(), cua_s1_.answer.size() + 1);
}

TEST_F(ClientTest, DecideCallsTheServiceOfTheNamedWorker) {
  options_.worker = "open-jev";
  EXPECT_EQ(Run({"decide", "-"}), 0);
  EXPECT_EQ(out_, "from open-jev\n");
}

TEST_F(ClientTest, AnUnservedServiceGivesItsGrpcCode) {
  options_.worker = "laya";
  EXPECT_EQ(Run({"decide", "-"}), 12);
  EXPECT_THAT(err_, StartsWith("omni: UNIMPLEMENTED: "));
}

TEST_F(ClientTest, OnlyAGivenDeadlineIsSent) {
  EXPECT_EQ(Run({"decide", "-"}), 0);
  EXPECT_FALSE(cua_s1_.has_deadline);
  options_.deadline_ms = 60000;
  EXPECT_EQ(Run({"decide", "-"}), 0);
  EXPECT_TRUE(cua_s1_.has_deadline);
}

TEST_F(ClientTest, AnErrorIsOneLineWithReasonAndMetadata) {
  google::rpc::ErrorInfo info;
  info.set_reason("BAD_CRITERIA");
  info.set_domain("omni.v1");
  (*info.mutable_metadata())["question"] = "q";
  (*info.mutable_metadata())["limit"] = "26";
  (*info.mutable_metadata())["actual"] = "27";
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  cua_s1_.status = {grpc::StatusCode::INVALID_ARGUMENT, "too\nmany options",
                    details.SerializeAsString()};
  EXPECT_EQ(Run({"decide", "-"}), 3);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(err_,
            "omni: INVALID_ARGUMENT BAD_CRITERIA: too many options "
            "(actual=\"27\" limit=\"26\" question=\"q\")\n");
}

TEST_F(ClientTest, AnErrorWithoutDetailsIsOneLine) {
  cua_s1_.status = {grpc::StatusCode::RESOURCE_EXHAUSTED, "busy"};
  EXPECT_EQ(Run({"info"}), 8);
  EXPECT_EQ(err_, "omni: RESOURCE_EXHAUSTED: busy\n");
}

TEST_F(ClientTest, InfoPrintsZerosAndTheNamesOfTheContract) {
  EXPECT_EQ(Run({"info"}), 0);
  EXPECT_THAT(out_, HasSubstr("\"model\": \"the-model\""));
  EXPECT_THAT(out_, HasSubstr("\"capacity\": 64"));
  EXPECT_THAT(out_, HasSubstr("\"units_run\": \"0\""));
}

TEST_F(ClientTest, HealthAsksForTheServiceByName) {
  health_.states["omni.v1.CuaS1"] = HealthCheckResponse::SERVING;
  EXPECT_EQ(Run({"health"}), 0);
  EXPECT_EQ(out_, "SERVING\n");
  options_.worker = "laya";
  EXPECT_EQ(Run({"health"}), 5);
  EXPECT_THAT(err_, StartsWith("omni: NOT_FOUND: "));
}

TEST_F(ClientTest, NotServingIsUnavailable) {
  health_.states["omni.v1.CuaS1"] = HealthCheckResponse::NOT_SERVING;
  EXPECT_EQ(Run({"health"}), 14);
  EXPECT_EQ(out_, "NOT_SERVING\n");
}

TEST_F(ClientTest, AWorkerThatIsNotThereIsUnavailable) {
  server_->Shutdown();
  EXPECT_EQ(Run({"health"}), 14);
  EXPECT_THAT(err_, StartsWith("omni: UNAVAILABLE: "));
}

TEST_F(ClientTest, WrongUsageIs64AndCallsNobody) {
  const std::vector<std::vector<std::string>> misused = {
      {},
      {"ask"},
      {"decide"},
      {"decide", "-", "-"},
      {"info", "x"},
      {"health", "x"},
      {"decide", ::testing::TempDir() + "/no-such-file"},
      {"decide", ::testing::TempDir()},
  };
  cua_s1_.body = "untouched";
  for (const auto& arguments : misused) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    EXPECT_EQ(Run(arguments), kWrongUsage);
    EXPECT_EQ(out_, "");
    EXPECT_THAT(err_, StartsWith("omni: "));
  }
  options_.worker = "cua-s2";
  EXPECT_EQ(Run({"decide", "-"}), kWrongUsage);
  options_.worker = "cua-s1";
  options_.deadline_ms = -1;
  EXPECT_EQ(Run({"decide", "-"}), kWrongUsage);
  options_.deadline_ms = 0;
  options_.address = "";
  EXPECT_EQ(Run({"decide", "-"}), kWrongUsage);
  EXPECT_EQ(cua_s1_.body, "untouched");
}

}  // namespace
}  // namespace omni
