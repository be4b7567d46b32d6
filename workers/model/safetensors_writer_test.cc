#include "workers/model/safetensors_writer.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/safetensors.h"

namespace omni {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Path() { return ::testing::TempDir() + "/written.safetensors"; }

const std::vector<SafetensorsWriter::Tensor>& Tensors() {
  static const auto* const tensors =
      new std::vector<SafetensorsWriter::Tensor>{{"empty", DType::kF32, {0, 3}},
                                                 {"b", DType::kBF16, {2, 2}},
                                                 {"a\"", DType::kF32, {1}},
                                                 {"h", DType::kF16, {3}}};
  return *tensors;
}

absl::Status WriteInPieces() {
  ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::Create(Path(), Tensors()));
  RETURN_IF_ERROR(writer->Append({1, 2, 3}));
  RETURN_IF_ERROR(writer->Append({}));
  RETURN_IF_ERROR(writer->Append({1.001F}));
  RETURN_IF_ERROR(writer->Append({5.125F}));
  RETURN_IF_ERROR(writer->Append({6, 0x1p-24F, 1e9F}));
  return writer->Finish();
}

TEST(SafetensorsWriterTest, ReaderFindsWhatWasWritten) {
  ASSERT_OK(WriteInPieces());
  ASSERT_OK_AND_ASSIGN(const auto file, SafetensorsFile::Open(Path()));
  EXPECT_EQ(file->tensors().size(), 4);
  EXPECT_THAT(file->tensors().at("empty").shape, ElementsAre(0, 3));
  std::vector<float> b(4);
  ASSERT_OK(file->ReadRows("b", 0, 2, absl::MakeSpan(b)));
  EXPECT_THAT(b, ElementsAre(1, 2, 3, 1));
  std::vector<float> a(1);
  ASSERT_OK(file->ReadRows("a\"", 0, 1, absl::MakeSpan(a)));
  EXPECT_THAT(a, ElementsAre(5.125F));
  std::vector<float> h(3);
  ASSERT_OK(file->ReadRows("h", 0, 3, absl::MakeSpan(h)));
  EXPECT_THAT(h, ElementsAre(6, 0x1p-24F, HUGE_VALF));
}

TEST(SafetensorsWriterTest, SameCallsGiveSameBytesWithAlignedData) {
  ASSERT_OK(WriteInPieces());
  ASSERT_OK_AND_ASSIGN(const std::string first, ReadFile(Path(), 4096));
  ASSERT_OK(WriteInPieces());
  EXPECT_THAT(ReadFile(Path(), 4096), IsOkAndHolds(first));
  EXPECT_EQ(static_cast<unsigned char>(first[0]) % 8, 0);
}

TEST(SafetensorsWriterTest, RefusesTooManyAndTooFewValues) {
  ASSERT_OK_AND_ASSIGN(auto writer,
                       SafetensorsWriter::Create(Path(), Tensors()));
  EXPECT_THAT(writer->Append({1, 2, 3, 4, 5}),
              StatusIs(absl::StatusCode::kOutOfRange));
  ASSERT_OK(writer->Append({1, 2, 3}));
  EXPECT_THAT(writer->Finish(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("tensor b lacks 1 values")));
}

TEST(SafetensorsWriterTest, UnwritablePathIsNamed) {
  const std::string path = ::testing::TempDir() + "/nowhere/x.safetensors";
  EXPECT_THAT(SafetensorsWriter::Create(path, {}),
              StatusIs(absl::StatusCode::kUnknown, StartsWith(path)));
}

}  // namespace
}  // namespace omni
