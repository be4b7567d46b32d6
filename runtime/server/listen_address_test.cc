#include "runtime/server/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/testing/status_matchers.h"

namespace omni {
namespace {

using ::omni::testing::StatusIs;
using ::testing::HasSubstr;

// Somebody who listens on a free port, as gRPC would: with SO_REUSEADDR.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) ==
          0);
    listen(fd_, 1);
    socklen_t size = sizeof(name);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &size);
    port_ = ntohs(name.sin_port);
  }
  ~Listener() { close(fd_); }

  std::string address() const { return absl::StrFormat("127.0.0.1:%d", port_); }

 private:
  int fd_;
  int port_ = 0;
};

class UnixListener {
 public:
  explicit UnixListener(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path.data(), path.size());
    CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) ==
          0);
    listen(fd_, 1);
  }
  ~UnixListener() { close(fd_); }

 private:
  int fd_;
};

TEST(ListenAddressTest, AcceptsFreeAddresses) {
  for (const char* address :
       {"127.0.0.1:0", "localhost:0", "0.0.0.0:0", "unix:free.sock"}) {
    SCOPED_TRACE(address);
    EXPECT_OK(CheckCanListen(address));
  }
}

TEST(ListenAddressTest, LeavesNothingBehind) {
  ASSERT_OK(CheckCanListen("unix:probe.sock"));
  EXPECT_NE(access("probe.sock", F_OK), 0);
  std::string address;
  {
    const Listener listener;
    address = listener.address();
  }
  EXPECT_OK(CheckCanListen(address));
  EXPECT_OK(CheckCanListen(address));
}

TEST(ListenAddressTest, RefusesAPortThatIsInUse) {
  const Listener listener;
  EXPECT_THAT(CheckCanListen(listener.address()),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("Address already in use")));
}

TEST(ListenAddressTest, RefusesASocketFileWithALivingServer) {
  {
    const UnixListener listener("living.sock");
    EXPECT_THAT(CheckCanListen("unix:living.sock"),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("Address already in use")));
  }
  // Its process is gone, the file is still there.
  EXPECT_EQ(access("living.sock", F_OK), 0);
  EXPECT_OK(CheckCanListen("unix:living.sock"));
}

TEST(ListenAddressTest, RefusesWhatIsNoSocketFile) {
  std::ofstream("plain.txt") << "text";
  EXPECT_THAT(CheckCanListen("unix:plain.txt"),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(CheckCanListen("unix:no/such/folder.sock"),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("No such file or directory")));
}

TEST(ListenAddressTest, RefusesAForeignAddress) {
  // Reserved for documentation: no machine has it.
  EXPECT_THAT(CheckCanListen("192.0.2.1:0"),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST(ListenAddressTest, RefusesMalformedAddresses) {
  for (const std::string& address :
       {std::string(""), std::string("50051"), std::string(":50051"),
        std::string("localhost:"), std::string("localhost:http"),
        std::string("127.0.0.1:-1"), std::string("127.0.0.1:65536"),
        std::string("127.0.0.1: 1"), std::string("::1:50051"),
        std::string("[::1:50051"), std::string("unix:"),
        "unix:" + std::string(108, 'x')}) {
    SCOPED_TRACE(address);
    EXPECT_THAT(CheckCanListen(address),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace omni
