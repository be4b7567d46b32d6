// Tests of whole worker processes. The test program is also the client process
// that one of them kills: see main().

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/server/server_harness.h"
#include "runtime/testing/fake_worker.h"
#include "runtime/testing/subprocess.h"

namespace omni {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::omni::testing::AsyncDecide;
using ::omni::testing::MakeRequest;
using ::omni::testing::ServerHarness;
using ::omni::testing::Step;
using ::omni::testing::Subprocess;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kListening[] = "listening on ";

std::vector<std::string> Command(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "runtime/testing/fake_server");
  return flags;
}

// A server process that has become ready.
class Server {
 public:
  explicit Server(std::vector<std::string> flags = {})
      : process_(Command(WithAddress(std::move(flags)))) {
    const std::string line = process_.ReadLine();
    EXPECT_THAT(line, StartsWith(kListening)) << process_.ReadErrors();
    address_ = line.substr(std::string(kListening).size());
    channel_ =
        grpc::CreateChannel(address_, grpc::InsecureChannelCredentials());
    stub_ = v1::CuaS1::NewStub(channel_);
  }

  Subprocess& process() { return process_; }
  const std::string& address() const { return address_; }
  v1::CuaS1::Stub* stub() { return stub_.get(); }

  v1::WorkerInfo Info() {
    grpc::ClientContext context;
    v1::WorkerInfo info;
    EXPECT_TRUE(stub_->GetInfo(&context, {}, &info).ok());
    return info;
  }
  // Ends its input, for which it waits before it exits, and waits for its end.
  int Exit() {
    process_.CloseInput();
    return process_.Wait();
  }
  // Waits until that many requests are accepted.
  void AwaitDepth(int depth) {
    while (static_cast<int>(Info().queue().depth()) != depth) {
    }
  }
  // Sends SIGTERM and waits until the server has begun to drain.
  void Terminate() {
    const auto health = Health::NewStub(channel_);
    grpc::ClientContext context;
    const auto watch = health->Watch(&context, HealthCheckRequest());
    HealthCheckResponse response;
    ASSERT_TRUE(watch->Read(&response));
    ASSERT_EQ(response.status(), HealthCheckResponse::SERVING);
    process_.Kill(SIGTERM);
    ASSERT_TRUE(watch->Read(&response));
    EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
    context.TryCancel();
    watch->Finish();
  }

 private:
  static std::vector<std::string> WithAddress(std::vector<std::string> flags) {
    flags.insert(flags.begin(), "--address=127.0.0.1:0");
    return flags;
  }

  Subprocess process_;
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CuaS1::Stub> stub_;
};

// A socket of this machine's loopback address.
class LocalSocket {
 public:
  LocalSocket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_GE(fd_, 0) << "errno " << errno;
  }
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;
  ~LocalSocket() { close(fd_); }

  // Takes a port, 0 for a free one, and listens there. Returns the port.
  int Listen(int port) {
    sockaddr_in name = Name(port);
    auto* const generic = reinterpret_cast<sockaddr*>(&name);
    socklen_t size = sizeof(name);
    EXPECT_EQ(bind(fd_, generic, size), 0) << "errno " << errno;
    EXPECT_EQ(listen(fd_, 1), 0) << "errno " << errno;
    EXPECT_EQ(getsockname(fd_, generic, &size), 0) << "errno " << errno;
    return ntohs(name.sin_port);
  }
  // Connects to a port. Returns 0 or the error's number.
  int Connect(int port) {
    const sockaddr_in name = Name(port);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&name);
    return connect(fd_, generic, sizeof(name)) == 0 ? 0 : errno;
  }

 private:
  static sockaddr_in Name(int port) {
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(port));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return name;
  }

  const int fd_;
};

int FreePort() { return LocalSocket().Listen(0); }

TEST(WorkerMainTest, ABadFlagIsOneLineBeforeAnythingIsLoaded) {
  const struct {
    const char* flag;
    const char* named;
  } cases[] = {
      {"--max_pending=0", "--max_pending=0: must be from 1 to 1000000"},
      {"--max_pending=-1", "--max_pending=-1"},
      {"--max_pending=1000001", "--max_pending=1000001"},
      {"--max_pending=invalid", "max_pending"},
      {"--max_pending=", "max_pending"},
      {"--max_pending=18446744073709551615", "max_pending"},
      {"--host_threads=0", "--host_threads=0"},
      {"--pollers=-1", "--pollers=-1"},
      {"--drain_delay_ms=-1", "--drain_delay_ms=-1"},
      {"--drain_timeout_ms=86400001", "--drain_timeout_ms=86400001"},
      {"--keepalive_time_ms=0", "--keepalive_time_ms=0"},
      {"--keepalive_timeout_ms=0", "--keepalive_timeout_ms=0"},
      {"--min_ping_interval_ms=-1", "--min_ping_interval_ms=-1"},
      {"--address=nowhere", "--address=nowhere"},
      {"--no_such_flag=1", "no_such_flag"},
      {"stray", "stray"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.flag);
    // The load would hang.
    Subprocess process(
        Command({"--address=127.0.0.1:0", "--hold_load", c.flag}));
    EXPECT_EQ(process.Wait(), 1);
    EXPECT_EQ(process.ReadLine(), "");
    const std::string errors = process.ReadErrors();
    EXPECT_THAT(errors, AllOf(StartsWith("ERROR: "), HasSubstr(c.named)));
    EXPECT_EQ(errors.find('\n'), errors.size() - 1) << errors;
  }
}

TEST(WorkerMainTest, GoodValuesOfMaxPendingReachTheLoad) {
  for (const char* flag : {"--max_pending=1", "--max_pending=64",
                           "--max_pending=1000000", "--host_threads=1"}) {
    SCOPED_TRACE(flag);
    Subprocess process(Command({"--address=127.0.0.1:0", "--fail_load", flag}));
    EXPECT_EQ(process.Wait(), 1);
    EXPECT_THAT(process.ReadErrors(), HasSubstr("no such checkpoint"));
  }
}

TEST(WorkerMainTest, APortInUseIsFoundBeforeTheLoad) {
  Server first;
  Subprocess second(Command({"--address=" + first.address(), "--hold_load"}));
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_EQ(second.ReadLine(), "");
  EXPECT_EQ(second.ReadErrors(), "ERROR: --address=" + first.address() +
                                     ": cannot listen on " + first.address() +
                                     ": Address already in use\n");
  // The first one got no company on its port.
  AsyncDecide call(first.stub(), MakeRequest("r"));
  EXPECT_TRUE(call.Wait().ok());
}

TEST(WorkerMainTest, AFailedLoadEndsTheProcess) {
  Subprocess process(Command({"--address=127.0.0.1:0", "--fail_load"}));
  EXPECT_EQ(process.Wait(), 1);
  EXPECT_EQ(process.ReadLine(), "");
  EXPECT_THAT(process.ReadErrors(),
              AllOf(HasSubstr("state LOADING"), Not(HasSubstr("state WARMING")),
                    HasSubstr("no such checkpoint\n")));
}

TEST(WorkerMainTest, AFailedWarmUpNeverOpensThePort) {
  Subprocess process(Command({"--address=127.0.0.1:0", "--fail_warm_up"}));
  process.CloseInput();
  EXPECT_EQ(process.Wait(), 1);
  EXPECT_EQ(process.ReadLine(), "");
  EXPECT_THAT(process.ReadErrors(),
              AllOf(HasSubstr("state WARMING"), Not(HasSubstr("state READY")),
                    HasSubstr("ERROR: the warm-up request failed")));
}

TEST(WorkerMainTest, ThePortIsClosedUntilTheWarmUpHasEnded) {
  const int port = FreePort();
  const std::string address = "127.0.0.1:" + std::to_string(port);
  Subprocess process(Command({"--address=" + address, "--hold_warm_up"}));
  ASSERT_EQ(process.ReadLine(), "warming up");
  EXPECT_EQ(LocalSocket().Connect(port), ECONNREFUSED);
  process.Write("release\n");
  EXPECT_EQ(process.ReadLine(), kListening + address);
  EXPECT_EQ(LocalSocket().Connect(port), 0);
  process.Kill(SIGTERM);
  process.CloseInput();
  EXPECT_EQ(process.Wait(), 0);
}

TEST(WorkerMainTest, APortTakenDuringTheWarmUpIsNamedWithItsFlag) {
  const int port = FreePort();
  const std::string address = "127.0.0.1:" + std::to_string(port);
  Subprocess process(Command({"--address=" + address, "--hold_warm_up"}));
  ASSERT_EQ(process.ReadLine(), "warming up");
  LocalSocket other;
  other.Listen(port);
  process.Write("release\n");
  process.CloseInput();
  EXPECT_EQ(process.Wait(), 1);
  EXPECT_EQ(process.ReadLine(), "");
  EXPECT_THAT(process.ReadErrors(),
              HasSubstr("ERROR: --address=" + address + ": cannot listen on " +
                        address + "\n"));
}

TEST(WorkerMainTest, AnIdleServerDrainsAndExitsWithZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Server server;
    AsyncDecide call(server.stub(), MakeRequest("r"));
    EXPECT_TRUE(call.Wait().ok());
    server.process().Kill(signal);
    EXPECT_EQ(server.Exit(), 0);
    EXPECT_THAT(server.process().ReadErrors(),
                AllOf(HasSubstr("state LOADING"), HasSubstr("state WARMING"),
                      HasSubstr("state READY"), HasSubstr("state DRAINING"),
                      HasSubstr("state STOPPED")));
  }
}

TEST(WorkerMainTest, ServesOnASocketFile) {
  Subprocess process(Command({"--address=unix:worker.sock"}));
  ASSERT_EQ(process.ReadLine(), "listening on unix:worker.sock");
  const auto stub = v1::CuaS1::NewStub(grpc::CreateChannel(
      "unix:worker.sock", grpc::InsecureChannelCredentials()));
  AsyncDecide call(stub.get(), MakeRequest("r"));
  EXPECT_TRUE(call.Wait().ok());
  Subprocess second(Command({"--address=unix:worker.sock"}));
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.ReadErrors(), StartsWith("ERROR: --address=unix:"));
  process.Kill(SIGTERM);
  process.CloseInput();
  EXPECT_EQ(process.Wait(), 0);
}

TEST(WorkerMainTest, AcceptedRequestsFinishAfterSigterm) {
  Server server({"--hold_units", "--drain_timeout_ms=3600000"});
  AsyncDecide first(server.stub(), MakeRequest("first", {"1", "2"}));
  AsyncDecide second(server.stub(), MakeRequest("second"));
  server.AwaitDepth(2);
  server.Terminate();
  server.process().Write("release\n");
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_EQ(first.response().answers_size(), 2);
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_EQ(server.Exit(), 0);
}

TEST(WorkerMainTest, WithdrawnRequestsMakeItExitWithOne) {
  Server server({"--hold_units", "--drain_timeout_ms=1"});
  AsyncDecide running(server.stub(), MakeRequest("running"));
  server.AwaitDepth(1);
  AsyncDecide waiting(server.stub(), MakeRequest("waiting"));
  server.AwaitDepth(2);
  server.process().Kill(SIGTERM);
  EXPECT_EQ(waiting.Wait().error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(running.Wait().error_code(), grpc::UNAVAILABLE);
  // The unit of the first one still runs; the process waits for it.
  server.process().Write("release\n");
  EXPECT_EQ(server.Exit(), 1);
  EXPECT_THAT(server.process().ReadErrors(), HasSubstr("state STOPPED"));
}

TEST(WorkerMainTest, ASecondSignalEndsItAtOnce) {
  Server server({"--hold_units", "--drain_timeout_ms=3600000"});
  AsyncDecide call(server.stub(), MakeRequest("r"));
  server.AwaitDepth(1);
  server.Terminate();
  server.process().Kill(SIGTERM);
  EXPECT_EQ(server.Exit(), 1);
  EXPECT_EQ(call.Wait().error_code(), grpc::UNAVAILABLE);
  EXPECT_THAT(server.process().ReadErrors(), HasSubstr("second signal"));
}

TEST(WorkerMainTest, ASignalDuringTheLoadEndsIt) {
  Subprocess process(Command({"--address=127.0.0.1:0", "--hold_load"}));
  ASSERT_EQ(process.ReadLine(), "loading");
  process.Kill(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(process.ReadLine(), "");
}

TEST(WorkerMainTest, AKilledClientLeavesTheQueue) {
  Server server({"--hold_units"});
  AsyncDecide running(server.stub(), MakeRequest("running"));
  server.AwaitDepth(1);
  Subprocess client({"/proc/self/exe", "--call=" + server.address()});
  server.AwaitDepth(2);
  client.Kill(SIGKILL);
  EXPECT_EQ(client.Wait(), -SIGKILL);
  // The unit of the other client still runs.
  server.AwaitDepth(1);
  server.process().Write("release\n");
  EXPECT_TRUE(running.Wait().ok());
  EXPECT_EQ(server.Info().queue().units_run(), 2u);  // And the warm-up.
}

TEST(WorkerMainTest, AKilledClientsDispatchedUnitRunsOutWithThePermit) {
  ServerHarness harness;
  harness.control().Hold(Step::kUnit);
  Subprocess client({"/proc/self/exe", "--call=" + harness.address()});
  harness.control().AwaitStarted("killed/q");
  const auto stub = harness.NewStub();
  AsyncDecide next(stub.get(), MakeRequest("next"));
  harness.control().AwaitUnitOf("next");
  client.Kill(SIGKILL);
  EXPECT_EQ(client.Wait(), -SIGKILL);
  while (harness.server().abandoned_calls() != 1) std::this_thread::yield();
  EXPECT_THAT(harness.control().started(), ElementsAre("killed/q"));
  EXPECT_EQ(harness.control().live_units(), 2);
  EXPECT_EQ(harness.pipeline().Info().queue().depth(), 2u);
  harness.control().ReleaseAll();
  EXPECT_TRUE(next.Wait().ok());
  EXPECT_THAT(harness.control().started(), ElementsAre("killed/q", "next/q"));
}

}  // namespace

// What a client process does: one call, whatever comes of it.
int Call(const std::string& address) {
  const auto stub = v1::CuaS1::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  AsyncDecide call(stub.get(), MakeRequest("killed"));
  return call.Wait().error_code();
}

}  // namespace omni

int main(int argc, char** argv) {
  const std::string call = "--call=";
  if (argc == 2 && std::string(argv[1]).rfind(call, 0) == 0) {
    return omni::Call(std::string(argv[1]).substr(call.size()));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
