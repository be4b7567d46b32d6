#include "workers/model/safetensors_writer.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/render.h"
#include "workers/model/float_formats.h"

namespace omni {
namespace {

static_assert(std::endian::native == std::endian::little);

int64_t ElementCount(const SafetensorsWriter::Tensor& tensor) {
  int64_t count = 1;
  for (const int64_t extent : tensor.shape) count *= extent;
  return count;
}

// The header's JSON, padded with spaces so that the data are aligned.
std::string HeaderText(absl::Span<const SafetensorsWriter::Tensor> tensors) {
  std::string text = "{";
  int64_t offset = 0;
  for (const SafetensorsWriter::Tensor& tensor : tensors) {
    const int64_t end = offset + ElementCount(tensor) * DTypeSize(tensor.dtype);
    absl::StrAppendFormat(
        &text,
        "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%d,%d]}",
        text.size() == 1 ? "" : ",", json::Escape(tensor.name),
        DTypeName(tensor.dtype), ShapeText(tensor.shape), offset, end);
    offset = end;
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::string path, std::FILE* file,
                                     std::vector<Tensor> tensors)
    : path_(std::move(path)), file_(file), tensors_(std::move(tensors)) {}

SafetensorsWriter::~SafetensorsWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

absl::StatusOr<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    const std::string& path, std::vector<Tensor> tensors) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return absl::UnknownError(absl::StrFormat(
        "%s: %s", path, std::generic_category().message(errno)));
  }
  std::unique_ptr<SafetensorsWriter> writer(
      new SafetensorsWriter(path, file, std::move(tensors)));
  const std::string header = HeaderText(writer->tensors_);
  const uint64_t length = header.size();
  char length_bytes[sizeof(length)];
  std::memcpy(length_bytes, &length, sizeof(length));
  RETURN_IF_ERROR(writer->Write({length_bytes, sizeof(length_bytes)}));
  RETURN_IF_ERROR(writer->Write(header));
  if (!writer->tensors_.empty()) {
    writer->left_ = ElementCount(writer->tensors_[0]);
    writer->SkipFullTensors();
  }
  return writer;
}

void SafetensorsWriter::SkipFullTensors() {
  while (left_ == 0 && current_ < tensors_.size()) {
    ++current_;
    if (current_ < tensors_.size()) left_ = ElementCount(tensors_[current_]);
  }
}

absl::Status SafetensorsWriter::Append(absl::Span<const float> values) {
  if (values.empty()) return absl::OkStatus();
  if (values.size() > static_cast<size_t>(left_)) {
    return absl::OutOfRangeError(
        absl::StrFormat("%s: %d values given where %d are missing", path_,
                        values.size(), left_));
  }
  const DType dtype = tensors_[current_].dtype;
  if (dtype == DType::kF32) {
    RETURN_IF_ERROR(Write({reinterpret_cast<const char*>(values.data()),
                           values.size() * sizeof(float)}));
  } else {
    std::vector<uint16_t> narrow;
    narrow.reserve(values.size());
    for (const float value : values) {
      narrow.push_back(dtype == DType::kBF16 ? FloatToBf16(value)
                                             : FloatToF16(value));
    }
    RETURN_IF_ERROR(Write({reinterpret_cast<const char*>(narrow.data()),
                           narrow.size() * sizeof(uint16_t)}));
  }
  left_ -= static_cast<int64_t>(values.size());
  SkipFullTensors();
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Finish() {
  if (current_ < tensors_.size()) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: tensor %s lacks %d values", path_,
                        tensors_[current_].name, left_));
  }
  if (std::fclose(std::exchange(file_, nullptr)) != 0) {
    return absl::UnknownError(absl::StrFormat(
        "%s: %s", path_, std::generic_category().message(errno)));
  }
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
    return absl::UnknownError(absl::StrFormat(
        "%s: %s", path_, std::generic_category().message(errno)));
  }
  return absl::OkStatus();
}

}  // namespace omni
