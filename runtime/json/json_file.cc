#include "runtime/json/json_file.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <system_error>

#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/reader.h"

namespace omni {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

absl::Status FileError(const std::string& path, int error) {
  const std::string message =
      absl::StrFormat("%s: %s", path, std::generic_category().message(error));
  return error == ENOENT || error == ENOTDIR ? absl::NotFoundError(message)
                                             : absl::UnknownError(message);
}

template <typename T>
std::optional<T> Parse(const json::Value& value) {
  if (!value.is_number()) return std::nullopt;
  const std::string& text = value.number().text;
  T result{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return result;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return FileError(path, errno);
  std::string bytes;
  char block[1 << 16];
  while (true) {
    errno = 0;
    const size_t count = std::fread(block, 1, sizeof(block), file.get());
    if (count == 0) break;
    bytes.append(block, count);
    if (bytes.size() > static_cast<size_t>(max_bytes)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: larger than %d bytes", path, max_bytes));
    }
  }
  if (std::ferror(file.get()) != 0) return FileError(path, errno);
  return bytes;
}

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) {
    return absl::UnknownError(FileError(path, errno).message());
  }
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
      std::fclose(file.release()) != 0) {
    return absl::UnknownError(FileError(path, errno).message());
  }
  return absl::OkStatus();
}

absl::StatusOr<json::Value> ParseJson(std::string_view text,
                                      std::string_view where) {
  absl::StatusOr<json::Value> value = json::Read(text);
  if (!value.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: %s", where, value.status().message()));
  }
  return value;
}

absl::StatusOr<json::Value> ReadJsonFile(const std::string& path,
                                         int64_t max_bytes) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, max_bytes));
  return ParseJson(text, path);
}

std::optional<int64_t> IntegerOf(const json::Value& value) {
  return Parse<int64_t>(value);
}

std::optional<double> DoubleOf(const json::Value& value) {
  const std::optional<double> number = Parse<double>(value);
  if (!number.has_value() || !std::isfinite(*number)) return std::nullopt;
  return number;
}

}  // namespace omni
