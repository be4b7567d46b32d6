// The Cua-S1 contract through its service: what is accepted, what is refused,
// in which order and with which words, by both methods.

#include <grpcpp/grpcpp.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/json/reader.h"
#include "runtime/json/system_one.h"
#include "runtime/server/decision_server.h"
#include "runtime/server/life_cycle.h"
#include "runtime/server/pipeline.h"
#include "runtime/server/server_harness.h"
#include "runtime/server/service_binding.h"
#include "runtime/testing/status_matchers.h"
#include "workers/cua_s1/testing/test_worker.h"

namespace omni::cua_s1 {
namespace {

using ::omni::testing::MetadataOf;
using ::omni::testing::ReasonOf;

constexpr grpc::StatusCode kInvalid = grpc::StatusCode::INVALID_ARGUMENT;

class CuaS1ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(testing::TestWorker made, testing::MakeTestWorker());
    decoder_ = made.decoder;
    ASSERT_OK_AND_ASSIGN(
        pipeline_, Pipeline::Create(std::move(made.worker), &life_cycle_, {}));
    ASSERT_OK(life_cycle_.MoveTo(v1::WORKER_STATE_WARMING));
    ASSERT_OK(life_cycle_.MoveTo(v1::WORKER_STATE_READY));
    ASSERT_OK_AND_ASSIGN(
        server_,
        DecisionServer::Start({.address = "127.0.0.1:0"},
                              std::make_unique<ServiceBindingOf<v1::CuaS1>>(),
                              pipeline_.get(), &life_cycle_));
    stub_ = v1::CuaS1::NewStub(grpc::CreateChannel(
        server_->address(), grpc::InsecureChannelCredentials()));
  }

  void TearDown() override {
    if (server_ != nullptr) {
      EXPECT_TRUE(server_->Drain(absl::ZeroDuration(), absl::Seconds(60)));
    }
  }

  grpc::Status DecideJson(const std::string& body, std::string* out = nullptr) {
    grpc::ClientContext context;
    v1::DecideJsonRequest request;
    request.set_body(body);
    v1::DecideJsonResponse response;
    grpc::Status status = stub_->DecideJson(&context, request, &response);
    if (out != nullptr) *out = response.body();
    return status;
  }

  grpc::Status Decide(const v1::DecideRequest& request,
                      v1::DecideResponse* response) {
    grpc::ClientContext context;
    return stub_->Decide(&context, request, response);
  }

  LifeCycle life_cycle_;
  testing::FakeDecoder* decoder_ = nullptr;  // Owned by the worker.
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<DecisionServer> server_;
  std::unique_ptr<v1::CuaS1::Stub> stub_;
};

// `count` members "p0", "p1", ... with this value.
std::string Members(int count, const std::string& value) {
  std::string members;
  for (int i = 0; i < count; ++i) {
    members += absl::StrFormat("%s\"p%d\": %s", i == 0 ? "" : ", ", i, value);
  }
  return members;
}

std::string Body(const std::string& questions,
                 const std::string& state = R"("s")",
                 const std::string& model = R"("test-model")") {
  return absl::StrFormat(R"({"model": %s, "state": %s, "questions": %s})",
                         model, state, questions);
}

std::string OneQuestion(const std::string& question) {
  return Body(absl::StrFormat(R"({"q": %s})", question));
}

constexpr char kGood[] =
    R"({"type": "choice", "instructions": "?", "criteria": {"a": null}})";

struct Refusal {
  std::string name;
  std::string body;
  std::string reason;
  std::string question = "";
  std::string limit = "";
  std::string actual = "";
};

// Every row of the error table, each with as many later faults as fit, so that
// the order of the checks shows.
std::vector<Refusal> Refusals() {
  // A later fault that both forms of a request can hold.
  const std::string bad_question =
      R"({"q": {"type": "score", "instructions": null, "criteria": ["a"]}})";
  return {
      {"not JSON", "{", "MALFORMED_JSON"},
      {"empty body", "", "MALFORMED_JSON"},
      {"not an object", "[1]", "MALFORMED_JSON"},
      {"something after the value", Body(bad_question) + "x", "MALFORMED_JSON"},
      {"byte-order mark", "\xEF\xBB\xBF" + Body(bad_question),
       "MALFORMED_JSON"},
      {"not UTF-8", Body(bad_question, "\"\xFF\""), "MALFORMED_JSON"},
      {"lone surrogate", Body(bad_question, R"("\ud800")"), "MALFORMED_JSON"},
      {"NaN", Body(bad_question, "[NaN]"), "MALFORMED_JSON"},
      {"out of range", Body(bad_question, "[1e400]"), "MALFORMED_JSON"},
      {"too deep",
       Body(bad_question, std::string(127, '[') + std::string(127, ']')),
       "MALFORMED_JSON", "", "127"},
      {"repeated key deep inside", Body(bad_question, R"([{"a": 1, "a": 1}])"),
       "DUPLICATE_KEY"},
      {"repeated question", Body(R"({"q": 5, "q": 5})"), "DUPLICATE_KEY"},
      {"repeated option",
       OneQuestion(R"({"type": "x", "criteria": {"a": 1, "a": 2}})"),
       "DUPLICATE_KEY"},
      {"model missing", R"({"state": "", "questions": 5})", "MODEL_MISMATCH"},
      {"model null", Body(bad_question, R"("")", "null"), "MODEL_MISMATCH"},
      {"model of another name", Body(bad_question, R"("")", R"("jev-latest")"),
       "MODEL_MISMATCH"},
      {"empty text state", Body(bad_question, R"("")"), "EMPTY_STATE"},
      {"empty object state", Body(bad_question, "{}"), "EMPTY_STATE"},
      {"empty array state", Body(bad_question, "[]"), "EMPTY_STATE"},
      {"state missing", R"({"model": "test-model", "questions": 5})",
       "BAD_STATE"},
      {"state null", Body(bad_question, "null"), "BAD_STATE"},
      {"state number", Body(bad_question, "1"), "BAD_STATE"},
      {"state boolean", Body(bad_question, "true"), "BAD_STATE"},
      {"questions missing", R"({"model": "test-model", "state": "s"})",
       "BAD_QUESTIONS"},
      {"questions of another type", Body("[]"), "BAD_QUESTIONS"},
      {"no questions", Body("{}"), "BAD_QUESTIONS"},
      {"65 questions", Body("{" + Members(65, R"({"type": "score"})") + "}"),
       "TOO_MANY_QUESTIONS", "", "64", "65"},
      {"question is no object", OneQuestion("[]"), "BAD_QUESTION", "q"},
      {"score", OneQuestion(R"({"type": "score"})"), "TYPE_NOT_SUPPORTED", "q"},
      {"noul", OneQuestion(R"({"type": "noul"})"), "TYPE_NOT_SUPPORTED", "q"},
      {"another type", OneQuestion(R"({"type": "Choice"})"), "UNKNOWN_TYPE",
       "q"},
      {"type of another type", OneQuestion(R"({"type": 1})"), "UNKNOWN_TYPE",
       "q"},
      {"type missing", OneQuestion("{}"), "UNKNOWN_TYPE", "q"},
      {"instructions missing",
       OneQuestion(R"({"type": "choice", "criteria": {}})"),
       "MISSING_INSTRUCTIONS", "q"},
      {"instructions number",
       OneQuestion(R"({"type": "choice", "instructions": 1, "criteria": {}})"),
       "BAD_TEXT", "q"},
      {"instructions boolean",
       OneQuestion(
           R"({"type": "choice", "instructions": false, "criteria": {}})"),
       "BAD_TEXT", "q"},
      {"criteria missing",
       OneQuestion(R"({"type": "choice", "instructions": null})"),
       "BAD_CRITERIA", "q"},
      {"criteria array",
       OneQuestion(
           R"({"type": "choice", "instructions": null, "criteria": ["a"]})"),
       "BAD_CRITERIA", "q"},
      {"no options",
       OneQuestion(
           R"({"type": "choice", "instructions": null, "criteria": {}})"),
       "BAD_CRITERIA", "q", "26", "0"},
      {"27 options",
       OneQuestion(R"({"type": "choice", "instructions": null, "criteria": {)" +
                   Members(27, "1") + "}}"),
       "BAD_CRITERIA", "q", "26", "27"},
      {"option value number",
       OneQuestion(
           R"({"type": "choice", "instructions": "", "criteria": {"a": 1}})"),
       "BAD_TEXT", "q"},
      {"option value boolean",
       OneQuestion(
           R"({"type": "choice", "instructions": "", "criteria": {"a": true}})"),
       "BAD_TEXT", "q"},
      {"the first bad question counts",
       Body(absl::StrFormat(
           R"({"good": %s, "bad": {"type": "score"}, "z": {"type": "noul"}})",
           kGood)),
       "TYPE_NOT_SUPPORTED", "bad"},
      // Tokens are counted when every question is known to be sound.
      {"a later bad question before the tokens of the first",
       Body(absl::StrFormat(R"({"long": %s, "bad": 5})", kGood),
            '"' + std::string(20000, '7') + '"'),
       "BAD_QUESTION", "bad"},
      {"too many tokens",
       Body(absl::StrFormat(R"({"q": %s})", kGood),
            '"' + std::string(20000, '7') + '"'),
       "TOKENS_EXCEEDED", "q", "16384"},
  };
}

TEST_F(CuaS1ServiceTest, RefusesEveryFaultInTheOrderOfTheContract) {
  for (const Refusal& c : Refusals()) {
    SCOPED_TRACE(c.name);
    const grpc::Status status = DecideJson(c.body);
    EXPECT_EQ(status.error_code(), kInvalid) << status.error_message();
    EXPECT_EQ(ReasonOf(status), c.reason) << status.error_message();
    EXPECT_EQ(MetadataOf(status, "question"), c.question);
    EXPECT_EQ(MetadataOf(status, "limit"), c.limit);
    if (!c.actual.empty()) {
      EXPECT_EQ(MetadataOf(status, "actual"), c.actual);
    }
  }
  EXPECT_TRUE(decoder_->plans().empty());
  // The next request is served.
  EXPECT_TRUE(DecideJson(OneQuestion(kGood)).ok());
}

TEST_F(CuaS1ServiceTest, BothMethodsRefuseAlike) {
  int expressible = 0;
  for (const Refusal& c : Refusals()) {
    SCOPED_TRACE(c.name);
    const auto value = json::Read(c.body);
    if (!value.ok()) continue;
    const auto request = json::ToRequest(*value, json::Dialect::kStrict);
    if (!request.ok()) continue;  // Only JSON can say this.
    ++expressible;
    v1::DecideResponse response;
    const grpc::Status status = Decide(*request, &response);
    EXPECT_EQ(status.error_code(), kInvalid);
    EXPECT_EQ(ReasonOf(status), c.reason) << status.error_message();
    EXPECT_EQ(MetadataOf(status, "question"), c.question);
    EXPECT_EQ(MetadataOf(status, "limit"), c.limit);
  }
  EXPECT_GE(expressible, 15);
  EXPECT_TRUE(decoder_->plans().empty());
}

TEST_F(CuaS1ServiceTest, ATypedRequestMayRepeatWhatJsonCannot) {
  v1::DecideRequest request;
  request.set_model("test-model");
  request.mutable_state()->set_text("s");
  for (int i = 0; i < 2; ++i) {
    v1::Question* question = request.add_questions();
    question->set_id("q");
    question->mutable_instructions()->mutable_null();
    question->mutable_choice()->add_options()->set_label("a");
  }
  v1::DecideResponse response;
  EXPECT_EQ(ReasonOf(Decide(request, &response)), "DUPLICATE_KEY");
  request.mutable_questions(1)->set_id("r");
  EXPECT_TRUE(Decide(request, &response).ok());
  request.mutable_questions(1)->mutable_choice()->add_options()->set_label("a");
  EXPECT_EQ(ReasonOf(Decide(request, &response)), "DUPLICATE_KEY");
}

TEST_F(CuaS1ServiceTest, AcceptsEverythingUpToTheLimits) {
  const std::string deep = std::string(126, '[') + std::string(126, ']');
  const struct {
    const char* name;
    std::string body;
  } cases[] = {
      {"one option", OneQuestion(kGood)},
      {"26 options",
       OneQuestion(R"({"type": "choice", "instructions": null, "criteria": {)" +
                   Members(26, "null") + "}}")},
      {"64 questions", Body("{" + Members(64, kGood) + "}")},
      {"structured texts",
       OneQuestion(R"({"type": "choice", "instructions": {"a": [1]},
                       "criteria": {"x": {"b": 2}, "y": [true], "z": ""}})")},
      {"unknown fields",
       OneQuestion(R"({"type": "choice", "instructions": "", "labels": 5,
                       "criteria": {"a": null}, "x": {}})")},
      {"empty ids and keys", Body(R"({"": {"type": "choice", "instructions": "",
                     "criteria": {"": null}}})")},
      {"127 containers", Body(absl::StrFormat(R"({"q": %s})", kGood), deep)},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const grpc::Status status = DecideJson(c.body);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

TEST_F(CuaS1ServiceTest, AnswersInTheOrderOfTheRequest) {
  std::string response;
  ASSERT_TRUE(DecideJson(Body(R"({
      "z": {"type": "choice", "instructions": "?",
            "criteria": {"\u00fc": null, "2": "two", "10": "ten"}},
      "a": {"type": "choice", "instructions": "?", "criteria": {"x": null}}})"),
                         &response)
                  .ok());
  ASSERT_OK_AND_ASSIGN(const json::Value parsed, json::Read(response));
  const json::Object& answers = parsed.Find("answers")->object();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].first, "z");
  EXPECT_EQ(answers[1].first, "a");
  const json::Object& answer = answers[0].second.object();
  ASSERT_EQ(answer.size(), 4u);
  EXPECT_EQ(answer[0].first, "type");
  EXPECT_EQ(answer[1].first, "choice");
  EXPECT_EQ(answer[2].first, "probabilities");
  EXPECT_EQ(answer[3].first, "confidence");
  const json::Object& probabilities = answer[2].second.object();
  ASSERT_EQ(probabilities.size(), 3u);
  EXPECT_EQ(probabilities[0].first, "\u00fc");
  EXPECT_EQ(probabilities[1].first, "2");
  EXPECT_EQ(probabilities[2].first, "10");
  EXPECT_EQ(parsed.Find("model")->string(), "test/model@1");
  EXPECT_EQ(parsed.Find("usage")->Find("output_tokens")->number().text, "0");
}

TEST_F(CuaS1ServiceTest, BothMethodsAnswerAlike) {
  ASSERT_OK_AND_ASSIGN(
      const json::Value value,
      json::Read(Body(R"({"q": {"type": "choice", "instructions": ["?", 1.0],
                           "criteria": {"b": {"k": 1e-5}, "a": null}}})",
                      R"({"z": 1, "a": "\u00e9"})")));
  ASSERT_OK_AND_ASSIGN(const v1::DecideRequest request,
                       json::ToRequest(value, json::Dialect::kStrict));
  decoder_->Return({0.25, -1});
  decoder_->Return({0.25, -1});
  v1::DecideResponse typed;
  ASSERT_TRUE(Decide(request, &typed).ok());
  std::string body;
  ASSERT_TRUE(
      DecideJson(Body(R"({"q": {"type": "choice", "instructions": ["?", 1.0],
                           "criteria": {"b": {"k": 1e-5}, "a": null}}})",
                      R"({"z": 1, "a": "\u00e9"})"),
                 &body)
          .ok());
  EXPECT_EQ(json::WriteResponse(typed), body);
  ASSERT_EQ(decoder_->plans().size(), 2u);
  EXPECT_EQ(decoder_->plans()[0].sequences, decoder_->plans()[1].sequences);
}

TEST_F(CuaS1ServiceTest, ANonFiniteLogitStopsTheRequestBeforeItsNextQuestion) {
  decoder_->Return({std::numeric_limits<float>::quiet_NaN(), 0});
  const grpc::Status status = DecideJson(Body("{" + Members(3, kGood) + "}"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(ReasonOf(status), "INTERNAL");
  EXPECT_EQ(decoder_->plans().size(), 1u);
  EXPECT_EQ(life_cycle_.state(), v1::WORKER_STATE_READY);
  EXPECT_TRUE(DecideJson(OneQuestion(kGood)).ok());
}

}  // namespace
}  // namespace omni::cua_s1
