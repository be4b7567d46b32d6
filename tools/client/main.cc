// The command-line client: see ClientUsage().

#include <iostream>
#include <string>
#include <vector>

#include "gflags/gflags.h"
#include "tools/client/client.h"

DEFINE_string(worker, "cua-s1", "The service to call: cua-s1, open-jev, laya.");
DEFINE_string(address, "127.0.0.1:50051",
              "Where the worker listens: HOST:PORT or unix:PATH.");
DEFINE_int32(deadline_ms, 0,
             "End the call after this many milliseconds; 0: only the worker's "
             "own limit holds.");

namespace {

bool IsOurs(const std::string& flag) {
  return flag == "worker" || flag == "address" || flag == "deadline_ms";
}

// Sets the flags and returns what else is on the command line. Not gflags'
// own parser, which ends the process with 1, the code of a cancelled call.
bool Parse(int argc, char** argv, std::vector<std::string>* arguments) {
  bool flags_ended = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (flags_ended || argument.size() < 2 || argument[0] != '-') {
      arguments->push_back(argument);
      continue;
    }
    if (argument == "--") {
      flags_ended = true;
      continue;
    }
    std::string name = argument.substr(argument[1] == '-' ? 2 : 1);
    std::string value;
    const size_t equals = name.find('=');
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (IsOurs(name) && i + 1 < argc) {
      value = argv[++i];
    }
    if (!IsOurs(name) ||
        gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
      std::cerr << "omni: cannot use " << argument << "; omni --help says more"
                << std::endl;
      return false;
    }
  }
  return true;
}

bool AsksForHelp(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (AsksForHelp(argc, argv)) {
    std::cout << omni::ClientUsage() << std::flush;
    return 0;
  }
  omni::ClientOptions options;
  if (!Parse(argc, argv, &options.arguments)) return omni::kWrongUsage;
  options.worker = FLAGS_worker;
  options.address = FLAGS_address;
  options.deadline_ms = FLAGS_deadline_ms;
  return omni::RunClient(options, std::cin, std::cout, std::cerr);
}
