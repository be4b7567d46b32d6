#include "workers/model/safetensors.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Path() { return ::testing::TempDir() + "/test.safetensors"; }

// The bytes of a file with this header.
std::string FileBytes(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

absl::StatusOr<std::unique_ptr<SafetensorsFile>> OpenBytes(
    const std::string& bytes,
    int64_t max_header_bytes = SafetensorsFile::kMaxHeaderBytes) {
  RETURN_IF_ERROR(WriteFile(Path(), bytes));
  return SafetensorsFile::Open(Path(), max_header_bytes);
}

TEST(SafetensorsTest, ReadsEveryTypeAndItsRows) {
  const std::string data(
      "\x00\x00\x80\x3f\x00\x00\x00\xc0"   // F32 1, -2
      "\x80\x3f\x00\xc0\x01\x00\x80\xff"   // BF16 1, -2, 2^-133, -inf
      "\x00\x3c\x00\xc0\x01\x00\x00\x7c",  // F16 1, -2, 2^-24, inf
      24);
  ASSERT_OK_AND_ASSIGN(
      const auto file,
      OpenBytes(FileBytes(
          R"({"__metadata__":{"format":"pt"},)"
          R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
          R"("b":{"dtype":"BF16","shape":[2,2],"data_offsets":[8,16]},)"
          R"("c":{"dtype":"F16","shape":[2,1,2],"data_offsets":[16,24]}}   )",
          data)));
  EXPECT_EQ(file->tensors().size(), 3);
  EXPECT_THAT(file->tensors().at("c").shape, ElementsAre(2, 1, 2));
  EXPECT_EQ(file->tensors().at("b").dtype, DType::kBF16);
  std::vector<float> out(2);
  ASSERT_OK(file->ReadRows("a", 0, 2, absl::MakeSpan(out)));
  EXPECT_THAT(out, ElementsAre(1, -2));
  ASSERT_OK(file->ReadRows("b", 1, 1, absl::MakeSpan(out)));
  EXPECT_THAT(out, ElementsAre(0x1p-133F, -HUGE_VALF));
  ASSERT_OK(file->ReadRows("c", 1, 1, absl::MakeSpan(out)));
  EXPECT_THAT(out, ElementsAre(0x1p-24F, HUGE_VALF));
  file->Release(file->tensors().at("b").bytes);
  ASSERT_OK(file->ReadRows("b", 0, 1, absl::MakeSpan(out)));
  EXPECT_THAT(out, ElementsAre(1, -2));
  EXPECT_THAT(file->ReadRows("b", 1, 2, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(file->ReadRows("d", 0, 1, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kNotFound, StartsWith(Path())));
}

TEST(SafetensorsTest, UnknownTypeMattersOnlyWhenRead) {
  ASSERT_OK_AND_ASSIGN(
      const auto file,
      OpenBytes(
          FileBytes(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                    R"("b":{"dtype":"F4","shape":[3],"data_offsets":[8,10]}})",
                    std::string(10, '\0'))));
  std::vector<float> out(1);
  EXPECT_THAT(file->ReadRows("a", 0, 1, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Path() + ": tensor \"a\" has dtype \"I64\", expected "
                                "BF16, F16 or F32"));
  EXPECT_THAT(file->ReadRows("b", 0, 1, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("F4")));
}

TEST(SafetensorsTest, EmptyTensorsAndGapsAreFine) {
  ASSERT_OK_AND_ASSIGN(
      const auto file,
      OpenBytes(FileBytes(
          R"({"a":{"dtype":"F32","shape":[0,4],"data_offsets":[4,4]},)"
          R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
          std::string(12, '\0'))));
  EXPECT_OK(file->ReadRows("a", 0, 0, {}));
  file->Release(file->tensors().at("a").bytes);
}

TEST(SafetensorsTest, HeaderLimitIsExact) {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string bytes = FileBytes(header, std::string(4, '\0'));
  const int64_t size = static_cast<int64_t>(header.size());
  EXPECT_OK(OpenBytes(bytes, size));
  EXPECT_THAT(OpenBytes(bytes, size - 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("larger than the limit of")));
}

struct BadFile {
  std::string name;
  std::string bytes;
  std::string message;
};

std::string OneTensor(const std::string& dtype, const std::string& shape,
                      const std::string& offsets, size_t data_bytes) {
  return FileBytes("{\"w\":{\"dtype\":" + dtype + ",\"shape\":" + shape +
                       ",\"data_offsets\":" + offsets + "}}",
                   std::string(data_bytes, '\0'));
}

TEST(SafetensorsTest, RefusesWhatIsNoSafetensorsFile) {
  const std::string huge_length = std::string(8, '\xff') + "{}";
  const std::string two =
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
      R"("b":{"dtype":"U8","shape":[4],"data_offsets":[%,8]}})";
  const std::vector<BadFile> cases = {
      {"empty", "", "0 bytes are too few"},
      {"seven bytes", std::string(7, '\0'), "7 bytes are too few"},
      {"no header", std::string(8, '\0'), "does not begin with {"},
      {"length beyond all", huge_length,
       "a header of 18446744073709551615 bytes is larger"},
      {"header cut off", FileBytes("{}", "").substr(0, 9),
       "should have 2 bytes, but the file ends after 1 of them"},
      {"header is no JSON", FileBytes("{\"a\":", ""), "header: "},
      {"header is an array", FileBytes("[]", ""), "does not begin with {"},
      {"space before it", FileBytes(" {}", ""), "does not begin with {"},
      {"text after it", FileBytes("{} x", ""), "header: "},
      {"repeated name",
       FileBytes(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                 R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                 ""),
       "header: "},
      {"empty name",
       FileBytes(R"({"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", ""),
       "empty name"},
      {"metadata is a string", FileBytes(R"({"__metadata__":"x"})", ""),
       "__metadata__ is not an object"},
      {"metadata holds a number", FileBytes(R"({"__metadata__":{"k":1}})", ""),
       "at \"k\""},
      {"entry is a string", FileBytes(R"({"w":"x"})", ""),
       "tensor \"w\": dtype is not a string"},
      {"no dtype", FileBytes(R"({"w":{"shape":[],"data_offsets":[0,4]}})", ""),
       "dtype is not a string"},
      {"negative extent", OneTensor("\"F32\"", "[-1]", "[0,4]", 4),
       "shape is not an array of sizes"},
      {"fraction", OneTensor("\"F32\"", "[1.0]", "[0,4]", 4),
       "shape is not an array of sizes"},
      {"extent beyond 63 bits",
       OneTensor("\"F32\"", "[9223372036854775808]", "[0,4]", 4),
       "shape is not an array of sizes"},
      {"three offsets", OneTensor("\"F32\"", "[1]", "[0,4,8]", 8),
       "not a pair of offsets"},
      {"offsets reversed", OneTensor("\"F32\"", "[1]", "[4,0]", 8),
       "[4, 0] do not fit"},
      {"data cut off", OneTensor("\"F32\"", "[2]", "[0,8]", 7),
       "[0, 8] do not fit into the 7 bytes"},
      {"unknown type beyond the end", OneTensor("\"X\"", "[2]", "[0,8]", 7),
       "[0, 8] do not fit into the 7 bytes"},
      {"too few bytes for the shape", OneTensor("\"F32\"", "[2]", "[0,4]", 8),
       "shape [2] of F32 takes 8 bytes, but data_offsets [0, 4] give 4"},
      {"wrong size of a type that is not read",
       OneTensor("\"I64\"", "[2]", "[0,8]", 8), "shape [2] of I64 takes 16"},
      // 2^62 * 4 is 0 modulo 2^64, and so is 2^32 * 2^32.
      {"size overflows in the element",
       OneTensor("\"F32\"", "[4611686018427387904]", "[0,0]", 0),
       "takes too many bytes"},
      {"size overflows in the shape",
       OneTensor("\"U8\"", "[4294967296,4294967296]", "[0,0]", 0),
       "takes too many bytes"},
      {"one byte shared",
       FileBytes(std::string(two)
                     .replace(two.find('%'), 1, "3")
                     .replace(two.rfind("[4]"), 3, "[5]"),
                 std::string(8, '\0')),
       "tensors \"a\" and \"b\" overlap"},
      {"control characters in a name",
       FileBytes("{\"\\n\":{\"dtype\":\"U8\",\"shape\":[1],"
                 "\"data_offsets\":[0,0]}}",
                 ""),
       "tensor \"\\n\": shape [1]"},
  };
  for (const BadFile& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(OpenBytes(c.bytes), StatusIs(absl::StatusCode::kInvalidArgument,
                                             AllOf(StartsWith(Path() + ": "),
                                                   HasSubstr(c.message))));
  }
  EXPECT_OK(OpenBytes(FileBytes(std::string(two).replace(two.find('%'), 1, "4"),
                                std::string(8, '\0'))));
}

TEST(SafetensorsTest, MissingFileAndFolderAreNamed) {
  const std::string path = ::testing::TempDir() + "/missing.safetensors";
  EXPECT_THAT(SafetensorsFile::Open(path),
              StatusIs(absl::StatusCode::kNotFound, StartsWith(path)));
  EXPECT_THAT(SafetensorsFile::Open(::testing::TempDir()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace omni
