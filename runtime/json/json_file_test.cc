#include "runtime/json/json_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::StartsWith;

TEST(JsonFileTest, ReadsWhatWasWritten) {
  const std::string path = ::testing::TempDir() + "/bytes";
  const std::string bytes("a\0b\n", 4);
  ASSERT_OK(WriteFile(path, bytes));
  EXPECT_THAT(ReadFile(path, 4), IsOkAndHolds(bytes));
  EXPECT_THAT(ReadFile(path, 3), StatusIs(absl::StatusCode::kInvalidArgument,
                                          path + ": larger than 3 bytes"));
}

TEST(JsonFileTest, MissingFileIsNotFound) {
  const std::string path = ::testing::TempDir() + "/nowhere/file";
  EXPECT_THAT(ReadFile(path, 1),
              StatusIs(absl::StatusCode::kNotFound, StartsWith(path)));
  EXPECT_THAT(WriteFile(path, "x"),
              StatusIs(absl::StatusCode::kUnknown, StartsWith(path)));
}

TEST(JsonFileTest, FolderCannotBeRead) {
  EXPECT_THAT(
      ReadFile(::testing::TempDir(), 1),
      StatusIs(absl::StatusCode::kUnknown, StartsWith(::testing::TempDir())));
}

TEST(JsonFileTest, BadJsonNamesTheFile) {
  const std::string path = ::testing::TempDir() + "/bad.json";
  ASSERT_OK(WriteFile(path, "{\"a\": 1, \"a\": 2}"));
  EXPECT_THAT(ReadJsonFile(path), StatusIs(absl::StatusCode::kInvalidArgument,
                                           StartsWith(path + ": ")));
}

TEST(JsonFileTest, NumbersKeepTheirKind) {
  ASSERT_OK_AND_ASSIGN(const json::Value value,
                       ParseJson("[7, -3, 7.0, 1e3, \"7\", "
                                 "9223372036854775808, 0.5]",
                                 "text"));
  const json::Array& numbers = value.array();
  EXPECT_EQ(IntegerOf(numbers[0]), 7);
  EXPECT_EQ(IntegerOf(numbers[1]), -3);
  EXPECT_EQ(IntegerOf(numbers[2]), std::nullopt);
  EXPECT_EQ(IntegerOf(numbers[3]), std::nullopt);
  EXPECT_EQ(IntegerOf(numbers[4]), std::nullopt);
  EXPECT_EQ(IntegerOf(numbers[5]), std::nullopt);
  EXPECT_EQ(DoubleOf(numbers[0]), 7);
  EXPECT_EQ(DoubleOf(numbers[3]), 1000);
  EXPECT_EQ(DoubleOf(numbers[4]), std::nullopt);
  EXPECT_EQ(DoubleOf(numbers[6]), 0.5);
}

}  // namespace
}  // namespace omni
