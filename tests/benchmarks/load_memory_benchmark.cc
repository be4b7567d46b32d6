// Time and peak resident memory of loading a checkpoint of the Qwen3.5-0.8B
// shape, which is written to the folder for temporary files first (1.5 GB) and
// removed at the end.
//
// Each load runs in a process of its own, so that its peak is its own; pages of
// the checkpoint's files that are mapped count. Counters:
//   peak_mib      most memory that was resident, program and libraries included
//   weights_mib   packed weights and embedding
//   ratio         peak_mib / weights_mib

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_format.h"
#include "benchmark/benchmark.h"
#include "runtime/base/logging.h"
#include "tools/checkpoint/random_checkpoint.h"
#include "workers/model/checkpoint.h"
#include "workers/model/ops/linear.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/qwen3_5/cpu_decoder.h"

namespace omni::qwen3_5 {
namespace {

// Written by main before anything runs.
std::string& Folder() {
  static auto* const folder = new std::string;
  return *folder;
}

int64_t Load(CpuPrecision precision) {
  auto config = LoadConfig(Folder() + "/config.json");
  CHECK(config.ok()) << config.status();
  auto checkpoint = Checkpoint::Open(Folder());
  CHECK(checkpoint.ok()) << checkpoint.status();
  auto decoder = CpuDecoder::Load(**checkpoint, *config, {precision, 0});
  CHECK(decoder.ok()) << decoder.status();
  return (*decoder)->weight_bytes();
}

void LoadMemory(benchmark::State& state, CpuPrecision precision) {
  if (precision == CpuPrecision::kBF16 && !ops::HasFastBf16()) {
    state.SkipWithError("this processor has no AVX512-BF16 instructions");
    return;
  }
  constexpr double kMiB = 1024.0 * 1024.0;
  double peak = 0;
  int64_t weights = 0;
  while (state.KeepRunning()) {
    // Nothing here may end this process: main still has to remove the folder.
    int ends[2];
    if (pipe(ends) != 0) {
      state.SkipWithError("cannot make a pipe");
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child < 0) {
      close(ends[0]);
      close(ends[1]);
      state.SkipWithError("cannot start a process");
      return;
    }
    if (child == 0) {
      const int64_t bytes = Load(precision);
      const bool told = write(ends[1], &bytes, sizeof bytes) == sizeof bytes;
      _exit(told ? 0 : 1);
    }
    close(ends[1]);
    const bool told = read(ends[0], &weights, sizeof weights) == sizeof weights;
    const std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    state.SetIterationTime(spent.count());
    close(ends[0]);
    int status = 0;
    rusage usage{};
    if (wait4(child, &status, 0, &usage) != child || status != 0 || !told) {
      state.SkipWithError("the process that loads failed");
      return;
    }
    peak = std::max(peak, static_cast<double>(usage.ru_maxrss) * 1024);
  }
  state.counters["peak_mib"] = peak / kMiB;
  state.counters["weights_mib"] = static_cast<double>(weights) / kMiB;
  state.counters["ratio"] = peak / static_cast<double>(weights);
}

BENCHMARK_CAPTURE(LoadMemory, bf16, CpuPrecision::kBF16)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(LoadMemory, f32, CpuPrecision::kF32)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace omni::qwen3_5

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  std::string folder =
      std::filesystem::temp_directory_path() / "omni-load-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  omni::qwen3_5::Folder() = folder;
  const absl::Status written =
      omni::WriteRandomCheckpoint("qwen3.5-0.8b", 1, folder);
  if (written.ok()) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    absl::FPrintF(stderr, "%s\n", written.ToString());
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return written.ok() ? 0 : 1;
}
