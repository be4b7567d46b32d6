// How fast texts become token ids, and that one long word takes n log n time:
// compare OneLetter/100000 with OneLetter/1000000.
//
// OMNI_QWEN35_TOKENIZER may name a real tokenizer.json; otherwise a small one
// is used, with which words are cut into more tokens.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
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
    if (!loaded.ok()) std::abort();
    return loaded->release();
  }();
  return *tokenizer;
}

void Encode(benchmark::State& state, const std::string& text) {
  const Tokenizer& tokenizer = SharedTokenizer();
  size_t tokens = 0;
  while (state.KeepRunning()) {
    absl::StatusOr<std::vector<uint32_t>> ids = tokenizer.Encode(text, {});
    if (!ids.ok()) std::abort();
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
