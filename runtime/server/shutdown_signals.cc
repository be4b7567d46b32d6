#include "runtime/server/shutdown_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

#include "runtime/base/logging.h"
#include "runtime/base/status_macros.h"

namespace omni {

absl::StatusOr<std::unique_ptr<ShutdownSignals>> ShutdownSignals::Create() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) {
    return absl::InternalError("cannot block SIGTERM and SIGINT");
  }
  const int signals = signalfd(-1, &set, SFD_CLOEXEC);
  const int end = eventfd(0, EFD_CLOEXEC);
  std::unique_ptr<ShutdownSignals> self(new ShutdownSignals(signals, end));
  if (signals < 0 || end < 0) {
    return absl::ResourceExhaustedError("no descriptor left for signals");
  }
  ASSIGN_OR_RETURN(self->thread_, Thread::Start("signals", [raw = self.get()] {
                     raw->Run();
                   }));
  return self;
}

ShutdownSignals::~ShutdownSignals() {
  if (end_ >= 0) {
    const uint64_t one = 1;
    CHECK(write(end_, &one, sizeof(one)) == sizeof(one));
    thread_.Join();
    close(end_);
  }
  if (signals_ >= 0) close(signals_);
}

void ShutdownSignals::Defer() {
  absl::MutexLock lock(&mu_);
  deferred_ = true;
}

void ShutdownSignals::Await() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(&received_));
}

void ShutdownSignals::Run() {
  pollfd descriptors[] = {{.fd = signals_, .events = POLLIN, .revents = 0},
                          {.fd = end_, .events = POLLIN, .revents = 0}};
  for (;;) {
    if (poll(descriptors, 2, -1) < 0) continue;  // Interrupted.
    if (descriptors[0].revents != 0) {
      signalfd_siginfo info;
      if (read(signals_, &info, sizeof(info)) == sizeof(info)) {
        Take(static_cast<int>(info.ssi_signo));
      }
    }
    if (descriptors[1].revents != 0) return;
  }
}

void ShutdownSignals::Take(int signal) {
  const char* const name = signal == SIGTERM ? "SIGTERM" : "SIGINT";
  bool second;
  {
    absl::MutexLock lock(&mu_);
    if (!deferred_) {
      // With mu_ held, so that Defer does not return meanwhile and let a
      // request in that would be lost.
      LOG(INFO) << name << " before the worker was ready: ends";
      _exit(0);
    }
    second = received_;
  }
  if (second) {
    LOG(WARNING) << "second signal (" << name << "): ends at once";
    _exit(1);
  }
  // Before Await returns and its caller logs what it does. Nobody else changes
  // received_.
  LOG(INFO) << name << ": shutting down";
  absl::MutexLock lock(&mu_);
  received_ = true;
}

}  // namespace omni
