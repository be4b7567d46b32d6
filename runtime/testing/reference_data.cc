#include "runtime/testing/reference_data.h"

#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/json/json_file.h"

namespace omni::testing {

std::string EnvironmentVariable(const char* name) {
  // Nothing changes the environment of a test.
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

json::Value MustReadJsonFile(const std::string& path) {
  absl::StatusOr<json::Value> value = ReadJsonFile(path);
  if (value.ok()) return *std::move(value);
  ADD_FAILURE() << value.status().ToString();
  return json::Object();
}

void ReferenceDataTest::SetUp() {
  folder_ = EnvironmentVariable("OMNI_REFERENCE_DATA");
  if (folder_.empty()) GTEST_SKIP() << "OMNI_REFERENCE_DATA is not set";
}

std::string ReferenceDataTest::Path(const std::string& name) const {
  return folder_ + "/" + name;
}

}  // namespace omni::testing
