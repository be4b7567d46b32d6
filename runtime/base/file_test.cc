#include "runtime/base/file.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using testing::IsOkAndHolds;
using testing::StatusIs;

std::string TempPath(const std::string& name) {
  return ::testing::TempDir() + name;
}

TEST(ReadFileTest, GivesEveryByte) {
  std::string content(200000, 'x');
  content[1] = '\0';
  content.back() = '\n';
  const std::string path = TempPath("content");
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_THAT(ReadFile(path), IsOkAndHolds(content));
}

TEST(ReadFileTest, AnErrorNamesThePath) {
  EXPECT_THAT(ReadFile(TempPath("missing")),
              StatusIs(absl::StatusCode::kNotFound,
                       ::testing::HasSubstr(TempPath("missing"))));
}

TEST(ReadFileTest, AFolderIsAnError) {
  EXPECT_FALSE(ReadFile(::testing::TempDir()).ok());
}

}  // namespace
}  // namespace omni
