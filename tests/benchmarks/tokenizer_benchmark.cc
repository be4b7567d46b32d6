// How fast texts become token ids, and how the time of one long word grows:
// BM_OneLetterGrowth encodes ten words of 100,000 letters and then one of
// 1,000,000 in turn; the counters are medians:
//   small_ms, large_ms   one word of each length
//   ratio                large_ms / small_ms: 10 if linear, 12 if n log n, 100
//                        if quadratic
//
// OMNI_QWEN35_TOKENIZER may name a real tokenizer.json; otherwise a small one
// is used, with which words are cut into more tokens.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "runtime/base/logging.h"
#include "workers/model/tokenizer.h"
#include "workers/model/tokenizer/test_file.h"

namespace omni {
namespace {

std::string SmallFile() {
  tokenizer::TestFile file;
  file.Set("normalizer", R"({"type": "NFC"})")
      .Set("pre_tokenizer", tokenizer::Qwen35PreTokenizer())
      .Added("<|im_start|>", 100'000)
      .Added("<|im_end|>", 100'001);
  uint32_t id = 300;
  for (const char* const word :
       {" Button", " at", " the", " customer", " message", " Insert", " screen",
        "\n\n", "aaaaaaaaaaaaaaaa", ", "}) {
    file.Token(word, id++);
  }
  return file.Json();
}

const Tokenizer& SharedTokenizer() {
  static const Tokenizer* const tokenizer = [] {
    const char* const path =
        std::getenv("OMNI_QWEN35_TOKENIZER");  // NOLINT(concurrency-mt-unsafe)
    absl::StatusOr<std::unique_ptr<const Tokenizer>> loaded =
        path == nullptr ? Tokenizer::FromJson(SmallFile())
                        : Tokenizer::FromFile(path);
    CHECK(loaded.ok());
    return loaded->release();
  }();
  return *tokenizer;
}

void Encode(benchmark::State& state, const std::string& text) {
  const Tokenizer& tokenizer = SharedTokenizer();
  size_t tokens = 0;
  while (state.KeepRunning()) {
    absl::StatusOr<std::vector<uint32_t>> ids = tokenizer.Encode(text, {});
    CHECK(ids.ok());
    tokens = ids->size();
  }
  state.SetBytesProcessed(
      static_cast<int64_t>(state.iterations() * text.size()));
  state.counters["tokens"] = static_cast<double>(tokens);
}

void BM_OneLetter(benchmark::State& state) {
  Encode(state, std::string(static_cast<size_t>(state.range(0)), 'a'));
}
BENCHMARK(BM_OneLetter)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

double Median(std::vector<double> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Encodes `text` that many times; milliseconds for each.
double EncodeMs(const std::string& text, int times) {
  const Tokenizer& tokenizer = SharedTokenizer();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) CHECK(tokenizer.Encode(text, {}).ok());
  const std::chrono::duration<double, std::milli> spent =
      std::chrono::steady_clock::now() - start;
  return spent.count() / times;
}

void BM_OneLetterGrowth(benchmark::State& state) {
  constexpr int kGrowth = 10;
  const std::string small(100'000, 'a');
  const std::string large(kGrowth * small.size(), 'a');
  EncodeMs(small, 1);
  EncodeMs(large, 1);
  std::vector<double> small_ms;
  std::vector<double> large_ms;
  while (state.KeepRunning()) {
    small_ms.push_back(EncodeMs(small, kGrowth));
    large_ms.push_back(EncodeMs(large, 1));
  }
  state.counters["small_ms"] = Median(small_ms);
  state.counters["large_ms"] = Median(large_ms);
  state.counters["ratio"] = Median(large_ms) / Median(small_ms);
}
BENCHMARK(BM_OneLetterGrowth)->Iterations(10)->Unit(benchmark::kMillisecond);

void BM_Spaces(benchmark::State& state) {
  Encode(state, std::string(static_cast<size_t>(state.range(0)), ' '));
}
BENCHMARK(BM_Spaces)->Arg(100'000)->Arg(1'000'000)->Unit(
    benchmark::kMillisecond);

// The kind of screen that Cua-S1 is asked about.
void BM_Prompt(benchmark::State& state) {
  const auto length = static_cast<size_t>(state.range(0));
  std::string text =
      "<|im_start|>user\nGoal: Insert the customer's message.\n\n";
  while (text.size() < length) {
    text += "- Button \"Insert J12\" @ [765, 588, 833, 608]\n";
  }
  Encode(state, text + "<|im_end|>\n");
}
BENCHMARK(BM_Prompt)->Arg(2'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace omni

BENCHMARK_MAIN();
