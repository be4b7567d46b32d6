#include "workers/model/checkpoint.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/json_file.h"
#include "runtime/json/value.h"

namespace omni {
namespace {

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr int64_t kMaxIndexBytes = int64_t{128} << 20;

std::string PathIn(const std::string& folder, std::string_view name) {
  return absl::StrFormat("%s/%s", folder, name);
}

std::string Quoted(std::string_view name) {
  return absl::StrFormat("\"%s\"", absl::Utf8SafeCEscape(absl::string_view(
                                       name.data(), name.size())));
}

// Shards lie beside the index and nowhere else.
bool IsFileName(std::string_view name) {
  return !name.empty() && name != "." &&
         name.find("..") == std::string_view::npos &&
         name.find_first_of(std::string_view("/\\\0", 3)) ==
             std::string_view::npos;
}

// The names of the tensors that each shard should have, by shard.
using Shards = std::map<std::string, std::vector<std::string>>;

absl::StatusOr<Shards> ShardsOf(const json::Value& index,
                                const std::string& path) {
  const json::Value* weight_map = index.Find("weight_map");
  if (weight_map == nullptr || !weight_map->is_object()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: weight_map is not an object", path));
  }
  Shards shards;
  for (const auto& [tensor, shard] : weight_map->object()) {
    if (!shard.is_string() || !IsFileName(shard.string())) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: weight_map gives no plain file name for tensor %s", path,
          Quoted(tensor)));
    }
    shards[shard.string()].push_back(tensor);
  }
  if (shards.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: weight_map is empty", path));
  }
  return shards;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Checkpoint>> Checkpoint::Open(
    const std::string& folder) {
  const std::string index_path = PathIn(folder, kIndexFile);
  const absl::StatusOr<json::Value> index =
      ReadJsonFile(index_path, kMaxIndexBytes);
  Shards shards;
  if (index.ok()) {
    ASSIGN_OR_RETURN(shards, ShardsOf(*index, index_path));
  } else if (absl::IsNotFound(index.status())) {
    shards[std::string(kSingleFile)] = {};
  } else {
    return index.status();
  }
  Files files;
  for (const auto& [shard, tensors] : shards) {
    ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFile> file,
                     SafetensorsFile::Open(PathIn(folder, shard)));
    for (const std::string& tensor : tensors) {
      if (file->tensors().find(tensor) == file->tensors().end()) {
        return absl::InvalidArgumentError(
            absl::StrFormat("%s: tensor %s is missing, which %s says it has",
                            file->path(), Quoted(tensor), kIndexFile));
      }
    }
    files.push_back(std::move(file));
  }
  std::unique_ptr<Checkpoint> checkpoint(new Checkpoint(std::move(files)));
  for (const auto& file : checkpoint->files_) {
    RETURN_IF_ERROR(checkpoint->AddFile(*file));
  }
  return checkpoint;
}

absl::Status Checkpoint::AddFile(const SafetensorsFile& file) {
  for (const auto& [name, tensor] : file.tensors()) {
    Entry entry{{tensor.dtype.value_or(DType::kF32), tensor.shape},
                &file,
                tensor.bytes};
    const auto [it, added] = entries_.emplace(name, std::move(entry));
    if (!added) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: tensor %s is also in %s", file.path(),
                          Quoted(name), it->second.file->path()));
    }
  }
  return absl::OkStatus();
}

const TensorInfo* Checkpoint::Find(std::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second.info;
}

absl::Status Checkpoint::ReadRows(std::string_view name, int64_t first_row,
                                  int64_t row_count, absl::Span<float> out) {
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    return absl::NotFoundError(
        absl::StrFormat("no tensor %s in the checkpoint", Quoted(name)));
  }
  return it->second.file->ReadRows(name, first_row, row_count, out);
}

void Checkpoint::Release(std::string_view name) {
  const auto it = entries_.find(name);
  if (it != entries_.end()) it->second.file->Release(it->second.bytes);
}

}  // namespace omni
