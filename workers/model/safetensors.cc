#include "workers/model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/json_file.h"
#include "runtime/json/value.h"
#include "workers/model/float_formats.h"

namespace omni {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int64_t kLengthBytes = 8;

struct KnownDType {
  std::string_view name;
  int64_t size;
  std::optional<DType> dtype;
};

constexpr KnownDType kKnownDTypes[] = {
    {"F32", 4, DType::kF32},      {"BF16", 2, DType::kBF16},
    {"F16", 2, DType::kF16},      {"F64", 8, std::nullopt},
    {"I64", 8, std::nullopt},     {"U64", 8, std::nullopt},
    {"I32", 4, std::nullopt},     {"U32", 4, std::nullopt},
    {"I16", 2, std::nullopt},     {"U16", 2, std::nullopt},
    {"I8", 1, std::nullopt},      {"U8", 1, std::nullopt},
    {"BOOL", 1, std::nullopt},    {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
};

const KnownDType* FindDType(std::string_view name) {
  for (const KnownDType& known : kKnownDTypes) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

// A name from a file, fit for a message of one line.
std::string Quoted(std::string_view name) {
  constexpr size_t kMaxShown = 200;
  return absl::StrFormat("\"%s\"",
                         absl::Utf8SafeCEscape(absl::string_view(
                             name.data(), std::min(name.size(), kMaxShown))));
}

std::string SystemMessage(int error) {
  return std::generic_category().message(error);
}

// The numbers of a JSON array of integers that are not negative; nullopt for
// anything else.
std::optional<std::vector<int64_t>> Sizes(const json::Value* value) {
  if (value == nullptr || !value->is_array()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const json::Value& element : value->array()) {
    const std::optional<int64_t> size = IntegerOf(element);
    if (!size.has_value() || *size < 0) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

// Bytes of a tensor; nullopt if they are more than an int64_t can count.
std::optional<int64_t> ByteSize(absl::Span<const int64_t> shape,
                                int64_t element_size) {
  int64_t size = element_size;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(size, extent, &size)) return std::nullopt;
  }
  return size;
}

// One member of the header. `data` is what follows the header.
absl::StatusOr<SafetensorsFile::Tensor> ParseTensor(const json::Value& entry,
                                                    std::string_view data) {
  const json::Value* dtype = entry.Find("dtype");
  if (dtype == nullptr || !dtype->is_string()) {
    return absl::InvalidArgumentError("dtype is not a string");
  }
  SafetensorsFile::Tensor tensor;
  tensor.dtype_name = dtype->string();
  std::optional<std::vector<int64_t>> shape = Sizes(entry.Find("shape"));
  if (!shape.has_value()) {
    return absl::InvalidArgumentError("shape is not an array of sizes");
  }
  tensor.shape = *std::move(shape);
  const std::optional<std::vector<int64_t>> offsets =
      Sizes(entry.Find("data_offsets"));
  if (!offsets.has_value() || offsets->size() != 2) {
    return absl::InvalidArgumentError("data_offsets is not a pair of offsets");
  }
  const int64_t begin = (*offsets)[0];
  const int64_t end = (*offsets)[1];
  const int64_t available = static_cast<int64_t>(data.size());
  if (begin > end || end > available) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "data_offsets [%d, %d] do not fit into the %d bytes of data that the "
        "file has",
        begin, end, available));
  }
  const KnownDType* known = FindDType(tensor.dtype_name);
  if (known != nullptr) {
    const std::optional<int64_t> size = ByteSize(tensor.shape, known->size);
    if (size != end - begin) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "shape %s of %s takes %s bytes, but data_offsets [%d, %d] give %d",
          ShapeText(tensor.shape), known->name,
          size.has_value() ? absl::StrFormat("%d", *size) : "too many", begin,
          end, end - begin));
    }
    tensor.dtype = known->dtype;
  }
  tensor.bytes =
      data.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  return tensor;
}

absl::Status CheckMetadata(const json::Value& metadata) {
  if (!metadata.is_object()) {
    return absl::InvalidArgumentError("__metadata__ is not an object");
  }
  for (const auto& [key, value] : metadata.object()) {
    if (!value.is_string()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "__metadata__ holds something else than a string at %s",
          Quoted(key)));
    }
  }
  return absl::OkStatus();
}

// No two tensors share a byte.
absl::Status CheckOverlaps(const SafetensorsFile::Tensors& tensors) {
  std::vector<SafetensorsFile::Tensors::const_pointer> order;
  for (const auto& entry : tensors) {
    if (!entry.second.bytes.empty()) order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.bytes.data() < b->second.bytes.data();
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const std::string_view before = order[i - 1]->second.bytes;
    if (before.data() + before.size() > order[i]->second.bytes.data()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "tensors %s and %s overlap", Quoted(order[i - 1]->first),
          Quoted(order[i]->first)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Open(
    const std::string& path, int64_t max_header_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const std::string message =
        absl::StrFormat("%s: %s", path, SystemMessage(errno));
    return errno == ENOENT || errno == ENOTDIR ? absl::NotFoundError(message)
                                               : absl::UnknownError(message);
  }
  const absl::Cleanup close_fd = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0) {
    return absl::UnknownError(
        absl::StrFormat("%s: %s", path, SystemMessage(errno)));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: not a regular file", path));
  }
  if (info.st_size < kLengthBytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: %d bytes are too few for a safetensors file", path, info.st_size));
  }
  const size_t size = static_cast<size_t>(info.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) {
    return absl::UnknownError(
        absl::StrFormat("%s: cannot map: %s", path, SystemMessage(errno)));
  }
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile(
      path, std::string_view(static_cast<const char*>(address), size)));
  const absl::Status status = file->ParseHeader(max_header_bytes);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: %s", path, std::string(status.message())));
  }
  return file;
}

SafetensorsFile::~SafetensorsFile() {
  munmap(const_cast<char*>(mapping_.data()), mapping_.size());
}

absl::Status SafetensorsFile::ParseHeader(int64_t max_header_bytes) {
  uint64_t length = 0;
  std::memcpy(&length, mapping_.data(), kLengthBytes);
  if (length > static_cast<uint64_t>(max_header_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a header of %d bytes is larger than the limit of %d",
                        length, max_header_bytes));
  }
  std::string_view rest = mapping_.substr(kLengthBytes);
  if (length > rest.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the header should have %d bytes, but the file ends "
                        "after %d of them",
                        length, rest.size()));
  }
  const std::string_view text = rest.substr(0, length);
  const std::string_view data = rest.substr(length);
  if (text.empty() || text.front() != '{') {
    return absl::InvalidArgumentError("the header does not begin with {");
  }
  ASSIGN_OR_RETURN(const json::Value header, ParseJson(text, "header"));
  for (const auto& [name, entry] : header.object()) {
    if (name == "__metadata__") {
      RETURN_IF_ERROR(CheckMetadata(entry));
      continue;
    }
    if (name.empty()) {
      return absl::InvalidArgumentError("a tensor has an empty name");
    }
    absl::StatusOr<Tensor> tensor = ParseTensor(entry, data);
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("tensor %s: %s", Quoted(name),
                          std::string(tensor.status().message())));
    }
    tensors_.emplace(name, *std::move(tensor));
  }
  return CheckOverlaps(tensors_);
}

absl::Status SafetensorsFile::ReadRows(std::string_view name, int64_t first_row,
                                       int64_t row_count,
                                       absl::Span<float> out) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) {
    return absl::NotFoundError(
        absl::StrFormat("%s: no tensor %s", path_, Quoted(name)));
  }
  const Tensor& tensor = it->second;
  if (!tensor.dtype.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: tensor %s has dtype %s, expected BF16, F16 or F32",
                        path_, Quoted(name), Quoted(tensor.dtype_name)));
  }
  RETURN_IF_ERROR(CheckRows({*tensor.dtype, tensor.shape}, name, first_row,
                            row_count, out.size()));
  if (out.empty()) return absl::OkStatus();
  const size_t row_bytes =
      tensor.bytes.size() / static_cast<size_t>(tensor.shape[0]);
  const char* source =
      tensor.bytes.data() + static_cast<size_t>(first_row) * row_bytes;
  switch (*tensor.dtype) {
    case DType::kF32:
      std::memcpy(out.data(), source, out.size() * sizeof(float));
      break;
    case DType::kBF16:
      WidenBf16(source, out);
      break;
    case DType::kF16:
      WidenF16(source, out);
      break;
  }
  return absl::OkStatus();
}

void SafetensorsFile::Release(std::string_view bytes) const {
  if (bytes.empty()) return;
  // Whole pages; a neighbour's part of the outer ones is merely read again.
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const size_t into_page = reinterpret_cast<uintptr_t>(bytes.data()) % page;
  // Only a hint: when it fails, the pages stay.
  madvise(const_cast<char*>(bytes.data()) - into_page, bytes.size() + into_page,
          MADV_DONTNEED);
}

}  // namespace omni
