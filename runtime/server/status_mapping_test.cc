#include "runtime/server/status_mapping.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "runtime/base/request_error.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::HasReason;
using ::omni::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusMappingTest, EveryReasonHasTheCodeOfTheContract) {
  const struct {
    v1::ErrorReason::Value reason;
    grpc::StatusCode code;
  } cases[] = {
      {v1::ErrorReason::BODY_TOO_LARGE, grpc::RESOURCE_EXHAUSTED},
      {v1::ErrorReason::MALFORMED_JSON, grpc::INVALID_ARGUMENT},
      {v1::ErrorReason::MODEL_MISMATCH, grpc::INVALID_ARGUMENT},
      {v1::ErrorReason::TYPE_NOT_SUPPORTED, grpc::INVALID_ARGUMENT},
      {v1::ErrorReason::TOKENS_EXCEEDED, grpc::INVALID_ARGUMENT},
      {v1::ErrorReason::QUEUE_FULL, grpc::RESOURCE_EXHAUSTED},
      {v1::ErrorReason::NOT_READY, grpc::UNAVAILABLE},
      {v1::ErrorReason::EXECUTOR_FAILED, grpc::UNAVAILABLE},
      {v1::ErrorReason::DRAINING, grpc::UNAVAILABLE},
      {v1::ErrorReason::INTERNAL, grpc::INTERNAL},
      {v1::ErrorReason::DEADLINE_PASSED, grpc::DEADLINE_EXCEEDED},
      {v1::ErrorReason::CALLER_GONE, grpc::CANCELLED},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(v1::ErrorReason::Value_Name(c.reason));
    const grpc::Status sent = ToGrpcStatus(RequestError(c.reason, "text"));
    EXPECT_EQ(sent.error_code(), c.code);
    EXPECT_EQ(sent.error_message(), "text");
  }
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(StatusMappingTest, DetailsCarryTheErrorInfo) {
  const grpc::Status sent =
      ToGrpcStatus(RequestError(v1::ErrorReason::TOO_MANY_QUESTIONS, "too many",
                                {.question = "q", .limit = 64, .actual = 65}));
  google::rpc::Status rich;
  ASSERT_TRUE(rich.ParseFromString(sent.error_details()));
  EXPECT_EQ(rich.code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(rich.message(), "too many");
  ASSERT_EQ(rich.details_size(), 1);
  EXPECT_EQ(rich.details(0).type_url(),
            "type.googleapis.com/google.rpc.ErrorInfo");
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(rich.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "TOO_MANY_QUESTIONS");
  EXPECT_EQ(info.domain(), "omni.v1");
  EXPECT_EQ(info.metadata().at("question"), "q");
  EXPECT_EQ(info.metadata().at("limit"), "64");
  EXPECT_EQ(info.metadata().at("actual"), "65");
}

TEST(StatusMappingTest, ClientsSeeNoCauseOfAnInternalError) {
  for (const absl::Status& status :
       {absl::InternalError("secret"), absl::InvalidArgumentError("secret"),
        absl::UnknownError("secret"), absl::NotFoundError("secret")}) {
    const absl::Status seen = ClientStatus(status);
    EXPECT_THAT(
        seen, StatusIs(absl::StatusCode::kInternal, Not(HasSubstr("secret"))));
    EXPECT_THAT(seen, HasReason(v1::ErrorReason::INTERNAL));
  }
}

TEST(StatusMappingTest, RequestErrorsStayAsTheyAre) {
  const absl::Status status =
      RequestError(v1::ErrorReason::BAD_STATE, "text", {.question = "\u00e4"});
  EXPECT_EQ(ClientStatus(status), status);
  EXPECT_OK(ClientStatus(absl::OkStatus()));
}

TEST(StatusMappingTest, TextThatCannotBeSentBecomesInternal) {
  EXPECT_THAT(ClientStatus(RequestError(v1::ErrorReason::BAD_STATE, "\xC3(")),
              HasReason(v1::ErrorReason::INTERNAL));
  EXPECT_THAT(ClientStatus(RequestError(v1::ErrorReason::BAD_STATE, "text",
                                        {.question = "\xFF"})),
              HasReason(v1::ErrorReason::INTERNAL));
}

TEST(StatusMappingTest, AMessageTooLongForATrailerBecomesInternal) {
  const absl::Status reason = RequestError(v1::ErrorReason::BAD_STATE, "text");
  absl::Status status(reason.code(), std::string(1025, 'x'));
  reason.ForEachPayload(
      [&status](absl::string_view url, const absl::Cord& payload) {
        status.SetPayload(url, payload);
      });
  EXPECT_THAT(ClientStatus(status), HasReason(v1::ErrorReason::INTERNAL));
}

TEST(StatusMappingTest, PushbackFollowsTheReason) {
  const absl::Duration wait = absl::Milliseconds(700);
  const absl::Status full = RequestError(v1::ErrorReason::QUEUE_FULL, "full");
  EXPECT_EQ(RetryPushbackMs(full, wait), 700);
  EXPECT_EQ(RetryPushbackMs(full, absl::ZeroDuration()), 50);
  EXPECT_EQ(RetryPushbackMs(full, absl::Hours(1)), 5000);
  EXPECT_EQ(RetryPushbackMs(full, absl::InfiniteDuration()), 5000);
  EXPECT_EQ(RetryPushbackMs(RequestError(v1::ErrorReason::DRAINING, "draining"),
                            wait),
            -1);
  EXPECT_EQ(RetryPushbackMs(
                RequestError(v1::ErrorReason::EXECUTOR_FAILED, "failed"), wait),
            -1);
  EXPECT_EQ(RetryPushbackMs(
                RequestError(v1::ErrorReason::BODY_TOO_LARGE, "large"), wait),
            std::nullopt);
  EXPECT_EQ(RetryPushbackMs(absl::OkStatus(), wait), std::nullopt);
}

}  // namespace
}  // namespace omni
