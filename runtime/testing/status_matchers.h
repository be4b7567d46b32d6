#ifndef OMNI_RUNTIME_TESTING_STATUS_MATCHERS_H_
#define OMNI_RUNTIME_TESTING_STATUS_MATCHERS_H_

// EXPECT_OK, ASSERT_OK, ASSERT_OK_AND_ASSIGN, IsOk(), IsOkAndHolds(m),
// StatusIs(code), StatusIs(code, message matcher) and HasReason(reason) for
// absl::Status and absl::StatusOr.

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "omni/v1/decision.pb.h"
#include "runtime/base/request_error.h"
#include "runtime/base/status_macros.h"

namespace omni::testing {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}

template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& statusor) {
  return statusor.status();
}

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

MATCHER_P(IsOkAndHolds, matcher, "is OK and has the wanted value") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(matcher, *arg, result_listener);
}

MATCHER_P(StatusIs, code, "has the wanted code") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).code() == code;
}

MATCHER_P2(StatusIs, code, message, "has the wanted code and message") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).code() == code &&
         ::testing::ExplainMatchResult(
             message, std::string(GetStatus(arg).message()), result_listener);
}

MATCHER_P(HasReason, reason,
          "has the reason " + v1::ErrorReason::Value_Name(reason)) {
  *result_listener << GetStatus(arg).ToString();
  return ReasonOf(GetStatus(arg)) == reason;
}

}  // namespace omni::testing

#define EXPECT_OK(expr) EXPECT_THAT((expr), ::omni::testing::IsOk())
#define ASSERT_OK(expr) ASSERT_THAT((expr), ::omni::testing::IsOk())

#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  OMNI_ASSERT_OK_AND_ASSIGN_(OMNI_CONCAT_(omni_statusor_, __LINE__), lhs, expr)

// `lhs` may be a declaration, which takes no parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define OMNI_ASSERT_OK_AND_ASSIGN_(statusor, lhs, expr) \
  auto statusor = (expr);                               \
  ASSERT_OK(statusor.status());                         \
  lhs = *std::move(statusor)
// NOLINTEND(bugprone-macro-parentheses)

#endif  // OMNI_RUNTIME_TESTING_STATUS_MATCHERS_H_
