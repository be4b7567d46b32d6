#include "runtime/testing/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "runtime/base/logging.h"

namespace omni::testing {

Subprocess::Subprocess(const std::vector<std::string>& arguments) {
  int input[2];
  int output[2];
  CHECK(pipe2(input, O_CLOEXEC) == 0);
  CHECK(pipe2(output, O_CLOEXEC) == 0);
  // A file: nobody reads it before the end, and a pipe would fill up.
  errors_ = memfd_create("errors", MFD_CLOEXEC);
  CHECK(errors_ >= 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors_, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const int error =
      posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  CHECK(error == 0) << "cannot start " << argv[0];
  close(input[0]);
  close(output[1]);
  input_ = input[1];
  output_ = output[0];
}

Subprocess::~Subprocess() {
  if (pid_ > 0) {
    Kill(SIGKILL);
    Wait();
  }
  CloseInput();
  close(output_);
  close(errors_);
}

void Subprocess::Write(const std::string& text) {
  CHECK(write(input_, text.data(), text.size()) ==
        static_cast<ssize_t>(text.size()));
}

void Subprocess::CloseInput() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

std::string Subprocess::ReadLine() {
  std::string line;
  char c;
  while (read(output_, &c, 1) == 1 && c != '\n') line.push_back(c);
  return line;
}

void Subprocess::Kill(int signal) { kill(pid_, signal); }

int Subprocess::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) CHECK(errno == EINTR);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string Subprocess::ReadErrors() {
  std::string text;
  char buffer[4096];
  off_t offset = 0;
  ssize_t count;
  while ((count = pread(errors_, buffer, sizeof(buffer), offset)) > 0) {
    text.append(buffer, count);
    offset += count;
  }
  return text;
}

}  // namespace omni::testing
