#ifndef OMNI_TOOLS_CLIENT_CLIENT_H_
#define OMNI_TOOLS_CLIENT_CLIENT_H_

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace omni {

// What the command `omni` was told to do.
struct ClientOptions {
  // "decide", "info" or "health", then what belongs to it.
  std::vector<std::string> arguments;
  // Which service is meant: "cua-s1", "open-jev" or "laya".
  std::string worker = "cua-s1";
  // HOST:PORT or unix:PATH.
  std::string address;
  // From the call's start; 0: the worker's own limit holds.
  int32_t deadline_ms = 0;
};

// Exit code for a command line that cannot be understood, or a file that cannot
// be read; no gRPC code is as large.
inline constexpr int kWrongUsage = 64;

// How to use the command; ends with a line break.
std::string_view ClientUsage();

// Runs one command against a worker and returns the exit code of the process:
// the gRPC code of the call (0 is OK; a worker that answers but is not serving
// counts as UNAVAILABLE for `health`), or kWrongUsage.
//
// Answers go to `out`, and errors as one line each to `err`, with the reason
// and metadata of their google.rpc.ErrorInfo. A request file named "-" is read
// from `in`. Blocks until the call has ended.
int RunClient(const ClientOptions& options, std::istream& in, std::ostream& out,
              std::ostream& err);

}  // namespace omni

#endif  // OMNI_TOOLS_CLIENT_CLIENT_H_
