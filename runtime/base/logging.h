#ifndef OMNI_RUNTIME_BASE_LOGGING_H_
#define OMNI_RUNTIME_BASE_LOGGING_H_

// LOG(INFO) << ...; writes one line to standard error: severity, UTC time,
// thread name, file and line, then the text with line breaks escaped. CHECK
// (condition) << ...; logs and aborts when one of our own invariants does not
// hold; never use it for input, files, devices or peers. Thread-safe; lines of
// different threads do not mix.

#include <ostream>
#include <sstream>

namespace omni {

enum class LogSeverity { INFO, WARNING, ERROR, FATAL };

class LogMessage {
 public:
  LogMessage(LogSeverity severity, const char* file, int line)
      : severity_(severity), file_(file), line_(line) {}
  LogMessage(const LogMessage&) = delete;
  LogMessage& operator=(const LogMessage&) = delete;
  // Writes the line; ends the process if the severity is FATAL.
  ~LogMessage();

  std::ostream& stream() { return stream_; }

 private:
  const LogSeverity severity_;
  const char* const file_;
  const int line_;
  std::ostringstream stream_;
};

// Gives both branches of CHECK's conditional the type void.
struct LogVoidify {
  void operator&(std::ostream&) {}
};

}  // namespace omni

// Both go on with what the caller streams.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define LOG(severity) \
  ::omni::LogMessage(::omni::LogSeverity::severity, __FILE__, __LINE__).stream()

#define CHECK(condition) \
  (condition)            \
      ? (void)0          \
      : ::omni::LogVoidify() & LOG(FATAL) << "Check failed: " #condition " "
// NOLINTEND(bugprone-macro-parentheses)

#endif  // OMNI_RUNTIME_BASE_LOGGING_H_
