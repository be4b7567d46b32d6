#include "runtime/server/response_check.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "omni/v1/decision.pb.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::StatusIs;
using ::testing::HasSubstr;

v1::DecideResponse ValidResponse() {
  v1::DecideResponse response;
  response.set_model("m\u00f6del");
  v1::Answer& answer = *response.add_answers();
  answer.set_id("q");
  answer.mutable_choice()->set_choice("yes");
  answer.mutable_choice()->add_probabilities()->set_key("yes");
  return response;
}

TEST(ResponseCheckTest, AcceptsValidText) {
  EXPECT_OK(CheckStringsAreUtf8(v1::DecideResponse()));
  EXPECT_OK(CheckStringsAreUtf8(ValidResponse()));
}

TEST(ResponseCheckTest, NamesABrokenFieldAtEveryDepth) {
  v1::DecideResponse top = ValidResponse();
  top.set_model("\xFF");
  EXPECT_THAT(CheckStringsAreUtf8(top),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("omni.v1.DecideResponse.model")));
  v1::DecideResponse deep = ValidResponse();
  deep.mutable_answers(0)->mutable_choice()->mutable_probabilities(0)->set_key(
      "\xC3");
  EXPECT_THAT(CheckStringsAreUtf8(deep),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("omni.v1.Probability.key")));
}

TEST(ResponseCheckTest, FindsABrokenElementOfAList) {
  v1::WorkerInfo info;
  info.add_request_models("fine");
  info.add_request_models("\xFF");
  EXPECT_THAT(CheckStringsAreUtf8(info),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("omni.v1.WorkerInfo.request_models")));
}

TEST(ResponseCheckTest, BytesMayHoldAnything) {
  v1::Content content;
  content.set_raw_json("\xFF");
  EXPECT_OK(CheckStringsAreUtf8(content));
}

}  // namespace
}  // namespace omni
