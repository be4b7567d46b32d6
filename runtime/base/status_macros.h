#ifndef OMNI_RUNTIME_BASE_STATUS_MACROS_H_
#define OMNI_RUNTIME_BASE_STATUS_MACROS_H_

// RETURN_IF_ERROR(expr) leaves the function with the status of `expr` unless
// it is OK. ASSIGN_OR_RETURN(lhs, expr) does so with a StatusOr, else assigns
// its value; put commas of `lhs` into parentheses of a type alias.

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define RETURN_IF_ERROR(expr)                  \
  do {                                         \
    absl::Status omni_status = (expr);         \
    if (!omni_status.ok()) return omni_status; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) \
  OMNI_ASSIGN_OR_RETURN_(OMNI_CONCAT_(omni_statusor_, __LINE__), lhs, expr)

// `lhs` may be a declaration, which takes no parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define OMNI_ASSIGN_OR_RETURN_(statusor, lhs, expr) \
  auto statusor = (expr);                           \
  if (!statusor.ok()) return statusor.status();     \
  lhs = *std::move(statusor)
// NOLINTEND(bugprone-macro-parentheses)

#define OMNI_CONCAT_(a, b) OMNI_CONCAT_INNER_(a, b)
#define OMNI_CONCAT_INNER_(a, b) a##b

#endif  // OMNI_RUNTIME_BASE_STATUS_MACROS_H_
