#include "workers/model/checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/safetensors_writer.h"

namespace omni {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  std::string PathOf(const std::string& name) const {
    return folder_ + "/" + name;
  }

  // A shard whose tensors, of shape [2], hold `value` and `value` + 1.
  void WriteShard(const std::string& name,
                  const std::vector<std::string>& tensors, float value) {
    std::vector<SafetensorsWriter::Tensor> specs;
    for (const std::string& tensor : tensors) {
      specs.push_back({tensor, DType::kBF16, {2}});
    }
    ASSERT_OK_AND_ASSIGN(auto writer,
                         SafetensorsWriter::Create(PathOf(name), specs));
    for (size_t i = 0; i < tensors.size(); ++i) {
      ASSERT_OK(writer->Append({value, value + 1}));
    }
    ASSERT_OK(writer->Finish());
  }

  void WriteIndex(const std::string& text) {
    ASSERT_OK(WriteFile(PathOf("model.safetensors.index.json"), text));
  }

  const std::string folder_ = ::testing::TempDir() + "/checkpoint";
};

TEST_F(CheckpointTest, OpensASingleFile) {
  WriteShard("model.safetensors", {"a", "b"}, 3);
  ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(folder_));
  ASSERT_NE(checkpoint->Find("b"), nullptr);
  EXPECT_EQ(checkpoint->Find("b")->dtype, DType::kBF16);
  EXPECT_EQ(checkpoint->Find("c"), nullptr);
  EXPECT_THAT(ReadTensor(*checkpoint, "b", {2}),
              IsOkAndHolds(ElementsAre(3, 4)));
  std::vector<float> out(1);
  EXPECT_THAT(checkpoint->ReadRows("c", 0, 1, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"c\"")));
}

TEST_F(CheckpointTest, ReleasedTensorReadsTheSame) {
  WriteShard("model.safetensors", {"a"}, 3);
  ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(folder_));
  checkpoint->Release("a");
  checkpoint->Release("unknown");
  EXPECT_THAT(ReadTensor(*checkpoint, "a", {2}),
              IsOkAndHolds(ElementsAre(3, 4)));
}

// Resident kilobytes of mapped files.
int64_t ResidentFileKb() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kb = 0;
  while (status >> word) {
    if (word == "RssFile:") status >> kb;
  }
  return kb;
}

TEST_F(CheckpointTest, ReleaseGivesThePagesBack) {
  constexpr int64_t kRows = 16;
  constexpr int64_t kWidth = 1 << 19;  // 16 MiB in all.
  {
    ASSERT_OK_AND_ASSIGN(
        auto writer,
        SafetensorsWriter::Create(PathOf("model.safetensors"),
                                  {{"big", DType::kBF16, {kRows, kWidth}}}));
    const std::vector<float> row(kWidth, 1);
    for (int64_t i = 0; i < kRows; ++i) ASSERT_OK(writer->Append(row));
    ASSERT_OK(writer->Finish());
  }
  ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(folder_));
  std::vector<float> row(kWidth);
  const int64_t before_kb = ResidentFileKb();
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_OK(checkpoint->ReadRows("big", i, 1, absl::MakeSpan(row)));
  }
  const int64_t read_kb = ResidentFileKb();
  checkpoint->Release("big");
  const int64_t released_kb = ResidentFileKb();
  EXPECT_GT(read_kb - before_kb, 12 * 1024);
  EXPECT_GT(read_kb - released_kb, 12 * 1024);
}

TEST_F(CheckpointTest, IndexComesBeforeTheSingleFile) {
  WriteShard("model.safetensors", {"a"}, 1);
  WriteShard("model.safetensors-00001-of-00002.safetensors", {"a"}, 5);
  WriteShard("model.safetensors-00002-of-00002.safetensors", {"b", "c"}, 7);
  // c is not in the index.
  WriteIndex(R"({"metadata": {"total_size": 8}, "weight_map": {
      "b": "model.safetensors-00002-of-00002.safetensors",
      "a": "model.safetensors-00001-of-00002.safetensors"}})");
  ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(folder_));
  EXPECT_THAT(ReadTensor(*checkpoint, "a", {2}),
              IsOkAndHolds(ElementsAre(5, 6)));
  EXPECT_THAT(ReadTensor(*checkpoint, "b", {2}),
              IsOkAndHolds(ElementsAre(7, 8)));
  EXPECT_THAT(ReadTensor(*checkpoint, "c", {2}),
              IsOkAndHolds(ElementsAre(7, 8)));
}

TEST_F(CheckpointTest, RefusesShardsThatShareATensor) {
  WriteShard("one", {"a", "b"}, 1);
  WriteShard("two", {"b"}, 2);
  WriteIndex(R"({"weight_map": {"a": "one", "b": "two"}})");
  EXPECT_THAT(
      Checkpoint::Open(folder_),
      StatusIs(absl::StatusCode::kInvalidArgument,
               PathOf("two") + ": tensor \"b\" is also in " + PathOf("one")));
}

TEST_F(CheckpointTest, RefusesATensorThatItsShardLacks) {
  WriteShard("one", {"a"}, 1);
  WriteShard("two", {"b"}, 2);
  WriteIndex(R"({"weight_map": {"a": "two", "b": "two", "c": "one"}})");
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith(PathOf("one")), HasSubstr("\"c\""))));
}

TEST_F(CheckpointTest, RefusesBadIndexes) {
  struct Case {
    std::string name;
    std::string index;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"empty file", "", ""},
      {"no map", "{}", "weight_map is not an object"},
      {"map is a list", R"({"weight_map": []})", "weight_map is not an object"},
      {"nothing in it", R"({"weight_map": {}})", "weight_map is empty"},
      {"number", R"({"weight_map": {"a": 1}})", "tensor \"a\""},
      {"no name", R"({"weight_map": {"a": ""}})", "tensor \"a\""},
      {"folder", R"({"weight_map": {"a": "x/one"}})", "tensor \"a\""},
      {"backslash", R"({"weight_map": {"a": "x\\one"}})", "tensor \"a\""},
      {"absolute", R"({"weight_map": {"a": "/one"}})", "tensor \"a\""},
      {"upwards", R"({"weight_map": {"a": ".."}})", "tensor \"a\""},
      {"upwards inside", R"({"weight_map": {"a": "one..two"}})",
       "tensor \"a\""},
      {"zero byte", R"({"weight_map": {"a": "one\u0000"}})", "tensor \"a\""},
      {"repeated tensor", R"({"weight_map": {"a": "one", "a": "one"}})", ""},
  };
  WriteShard("one", {"a"}, 1);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    WriteIndex(c.index);
    EXPECT_THAT(
        Checkpoint::Open(folder_),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(StartsWith(PathOf("model.safetensors.index.json: ")),
                       HasSubstr(c.message))));
  }
}

TEST_F(CheckpointTest, MissingFilesAreNamed) {
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kNotFound,
                       StartsWith(PathOf("model.safetensors: "))));
  WriteIndex(R"({"weight_map": {"a": "one"}})");
  EXPECT_THAT(Checkpoint::Open(folder_), StatusIs(absl::StatusCode::kNotFound,
                                                  StartsWith(PathOf("one: "))));
}

}  // namespace
}  // namespace omni
