#include "runtime/server/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace omni {
namespace {

constexpr char kUnixPrefix[] = "unix:";
constexpr int kMaxPort = 65535;

std::string ErrorText(int error) {
  return std::generic_category().message(error);
}

// 0, or the errno of the first step that failed.
int TryBind(int family, const sockaddr* address, socklen_t size) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const absl::Cleanup closer = [fd] { close(fd); };
  // As the server will: connections of a former process that linger do not
  // count, one that listens does.
  const int on = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
    return errno;
  }
  if (bind(fd, address, size) != 0) return errno;
  // Two sockets that do not listen yet may share a port.
  if (listen(fd, 1) != 0) return errno;
  return 0;
}

absl::Status CannotListen(const std::string& address, int error) {
  return absl::UnavailableError(
      absl::StrFormat("cannot listen on %s: %s", address, ErrorText(error)));
}

absl::Status CheckUnix(const std::string& address) {
  const std::string path = address.substr(std::strlen(kUnixPrefix));
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(name.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the path in %s must have 1 to %d bytes", address,
                        sizeof(name.sun_path) - 1));
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&name);
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) {
    const int error = TryBind(AF_UNIX, generic, sizeof(name));
    if (error != 0) return CannotListen(address, error);
    unlink(path.c_str());
    return absl::OkStatus();
  }
  if (!S_ISSOCK(info.st_mode)) return CannotListen(address, EEXIST);
  // The server replaces a socket file, even one of a process that lives.
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return CannotListen(address, errno);
  const absl::Cleanup closer = [fd] { close(fd); };
  if (connect(fd, generic, sizeof(name)) == 0) {
    return CannotListen(address, EADDRINUSE);
  }
  return absl::OkStatus();
}

absl::Status CheckTcp(const std::string& address) {
  const auto malformed = [&address] {
    return absl::InvalidArgumentError(
        absl::StrFormat("'%s' is neither HOST:PORT nor unix:PATH", address));
  };
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return malformed();
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  int number = 0;
  if (port.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(port, &number) || number > kMaxPort) {
    return malformed();
  }
  if (host.front() == '[') {
    if (host.back() != ']') return malformed();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return malformed();
  }
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(absl::StrFormat(
        "cannot listen on %s: %s", address, gai_strerror(error)));
  }
  const absl::Cleanup freer = [found] { freeaddrinfo(found); };
  // A name may stand for several addresses, of which this machine need not
  // have all; but none of them may be somebody else's.
  int last_error = EADDRNOTAVAIL;
  bool bound = false;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    const int failed =
        TryBind(info->ai_family, info->ai_addr, info->ai_addrlen);
    if (failed == EADDRINUSE) return CannotListen(address, failed);
    if (failed == 0) {
      bound = true;
    } else {
      last_error = failed;
    }
  }
  return bound ? absl::OkStatus() : CannotListen(address, last_error);
}

}  // namespace

absl::Status CheckCanListen(const std::string& address) {
  return address.rfind(kUnixPrefix, 0) == 0 ? CheckUnix(address)
                                            : CheckTcp(address);
}

}  // namespace omni
