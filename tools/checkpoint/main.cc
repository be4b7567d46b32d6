// Writes a checkpoint with random weights; see random_checkpoint.h.

#include <gflags/gflags.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "tools/checkpoint/random_checkpoint.h"

DEFINE_string(shape, "demo",
              "demo, qwen3.5-0.8b, qwen3.5-2b, qwen3.5-4b, qwen3.5-9b or "
              "qwen3.5-27b.");
DEFINE_uint64(seed, 1, "Decides the weights, with the shape.");
DEFINE_string(out, "", "Folder to write to; made if missing.");

int main(int argc, char** argv) {
  gflags::SetUsageMessage(
      "writes a Qwen3.5 checkpoint with random weights\n"
      "  make_checkpoint --out=FOLDER [--shape=NAME] [--seed=N]");
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  if (argc > 1) {
    std::fprintf(stderr, "make_checkpoint: unexpected argument %s\n", argv[1]);
    return 1;
  }
  if (FLAGS_out.empty()) {
    std::fprintf(stderr, "make_checkpoint: --out names no folder\n");
    return 1;
  }
  const absl::Status status =
      omni::WriteRandomCheckpoint(FLAGS_shape, FLAGS_seed, FLAGS_out);
  if (!status.ok()) {
    std::fprintf(stderr, "make_checkpoint: %s%s\n",
                 absl::IsInvalidArgument(status) ? "--shape: " : "",
                 std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
