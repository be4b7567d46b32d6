#include "runtime/base/request_error.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace omni {
namespace {

TEST(RequestErrorTest, CarriesCodeReasonAndNumbers) {
  const absl::Status status =
      RequestError(v1::ErrorReason::TOKENS_EXCEEDED, "too long",
                   {.question = "q", .limit = 16384, .actual = 16385});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(status), v1::ErrorReason::TOKENS_EXCEEDED);
  const auto info = ErrorInfoOf(status);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->domain(), "omni.v1");
  EXPECT_EQ(info->metadata().at("question"), "q");
  EXPECT_EQ(info->metadata().at("limit"), "16384");
  EXPECT_EQ(info->metadata().at("actual"), "16385");
}

TEST(RequestErrorTest, LeavesOutWhatIsNotKnown) {
  const auto info =
      ErrorInfoOf(RequestError(v1::ErrorReason::EMPTY_STATE, "empty"));
  ASSERT_TRUE(info.has_value());
  EXPECT_TRUE(info->metadata().empty());
}

TEST(RequestErrorTest, ReasonsMapToTheCodesOfTheContract) {
  const struct {
    v1::ErrorReason::Value reason;
    absl::StatusCode code;
  } cases[] = {
      {v1::ErrorReason::BODY_TOO_LARGE, absl::StatusCode::kResourceExhausted},
      {v1::ErrorReason::QUEUE_FULL, absl::StatusCode::kResourceExhausted},
      {v1::ErrorReason::TOO_MANY_QUESTIONS, absl::StatusCode::kInvalidArgument},
      {v1::ErrorReason::MALFORMED_JSON, absl::StatusCode::kInvalidArgument},
      {v1::ErrorReason::NOT_READY, absl::StatusCode::kUnavailable},
      {v1::ErrorReason::EXECUTOR_FAILED, absl::StatusCode::kUnavailable},
      {v1::ErrorReason::DRAINING, absl::StatusCode::kUnavailable},
      {v1::ErrorReason::INTERNAL, absl::StatusCode::kInternal},
      {v1::ErrorReason::DEADLINE_PASSED, absl::StatusCode::kDeadlineExceeded},
      {v1::ErrorReason::CALLER_GONE, absl::StatusCode::kCancelled},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(v1::ErrorReason::Value_Name(c.reason));
    EXPECT_EQ(RequestError(c.reason, "m").code(), c.code);
  }
}

TEST(RequestErrorTest, LongTextsAreCutAtACharacter) {
  std::string umlauts;
  for (int i = 0; i < 1000; ++i) umlauts += "a\u00e4";  // 3 bytes each
  const absl::Status status = RequestError(v1::ErrorReason::BAD_QUESTION,
                                           umlauts, {.question = umlauts});
  EXPECT_EQ(status.message().size(), 1024u);
  // Byte 64 is the second one of a character.
  EXPECT_EQ(ErrorInfoOf(status)->metadata().at("question").size(), 64u);
  EXPECT_EQ(CutAtCharacter("a\u00e4", 2), "a");
  EXPECT_EQ(CutAtCharacter("a\u00e4", 3), "a\u00e4");
}

TEST(RequestErrorTest, OtherStatusesHaveNoReason) {
  EXPECT_EQ(ReasonOf(absl::InternalError("x")), v1::ErrorReason::UNSPECIFIED);
  EXPECT_FALSE(ErrorInfoOf(absl::OkStatus()).has_value());
}

}  // namespace
}  // namespace omni
