#ifndef OMNI_RUNTIME_TESTING_REFERENCE_DATA_H_
#define OMNI_RUNTIME_TESTING_REFERENCE_DATA_H_

#include <string>

#include "gtest/gtest.h"
#include "runtime/json/value.h"

namespace omni::testing {

// The value of an environment variable; "" if it is not set.
std::string EnvironmentVariable(const char* name);

// What ReadJsonFile gives; fails the running test, and gives an empty object,
// if the file cannot be read.
json::Value MustReadJsonFile(const std::string& path);

// Tests against the reference data, which is no part of the project. They are
// skipped unless OMNI_REFERENCE_DATA names its folder.
class ReferenceDataTest : public ::testing::Test {
 protected:
  void SetUp() override;

  // "request-load/requests.jsonl" becomes a path that can be opened.
  std::string Path(const std::string& name) const;

 private:
  std::string folder_;
};

}  // namespace omni::testing

#endif  // OMNI_RUNTIME_TESTING_REFERENCE_DATA_H_
