#include "runtime/base/file.h"

#include <cerrno>
#include <cstdio>
#include <memory>

#include "absl/status/status.h"

namespace omni {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Closer> file(
      std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) return absl::ErrnoToStatus(errno, path);
  std::string content;
  char buffer[65536];
  size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0) {
    content.append(buffer, count);
  }
  if (std::ferror(file.get()) != 0) return absl::ErrnoToStatus(errno, path);
  return content;
}

}  // namespace omni
