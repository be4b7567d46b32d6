#ifndef OMNI_RUNTIME_TESTING_SUBPROCESS_H_
#define OMNI_RUNTIME_TESTING_SUBPROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace omni::testing {

// A process that a test starts, with pipes to its standard streams. Killed by
// the destructor if it still runs. Not thread-safe.
class Subprocess {
 public:
  // `arguments[0]` is the path of the program.
  explicit Subprocess(const std::vector<std::string>& arguments);
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;
  ~Subprocess();

  // Writes to its standard input.
  void Write(const std::string& text);
  void CloseInput();  // Also done by the destructor.
  // The next line of its standard output, without its end; "" at the end of the
  // stream.
  std::string ReadLine();
  void Kill(int signal);
  // Waits for its end. The exit code, or minus the signal that ended it.
  int Wait();
  // Everything that it wrote to standard error. After Wait.
  std::string ReadErrors();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;
};

}  // namespace omni::testing

#endif  // OMNI_RUNTIME_TESTING_SUBPROCESS_H_
