#include "runtime/base/logging.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace omni {
namespace {

const char* Basename(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

}  // namespace

LogMessage::~LogMessage() {
  char thread[16] = "";
  pthread_getname_np(pthread_self(), thread, sizeof(thread));
  const std::string line = absl::StrFormat(
      "%c%s %s %s:%d] %s\n", "IWEF"[static_cast<int>(severity_)],
      absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(),
                       absl::UTCTimeZone()),
      thread, Basename(file_), line_,
      absl::StrReplaceAll(stream_.str(), {{"\n", "\\n"}, {"\r", "\\r"}}));
  // One write: lines of different threads stay whole.
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) {
    // There is nowhere left to say so.
  }
  if (severity_ == LogSeverity::FATAL) std::abort();
}

}  // namespace omni
