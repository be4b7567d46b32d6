// Time of one forward pass of the Qwen3.5-0.8B shape with random weights, and
// how much of it oneDNN needs for the products alone.
//
// The products are those of the pass, each with all rows of the prompt at once
// and without anything between them, on a second copy of the weights of all
// layers, so that they are in no cache, as in the pass. Both sides run in turn;
// the counters are medians:
//   forward_ms, products_ms   one pass, its products alone
//   ratio                     products_ms / forward_ms
//   tokens_per_s              of the pass

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/base/logging.h"
#include "tests/benchmarks/random_qwen3_5.h"
#include "tools/checkpoint/shapes.h"
#include "workers/model/ops/parallel.h"
#include "workers/model/qwen3_5/cpu_decoder.h"

namespace omni::qwen3_5 {
namespace {

using dnnl::memory;

// The products of one pass on bare oneDNN.
class Products {
 public:
  Products(const Config& config, memory::data_type type)
      : type_(type), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const int64_t hidden = config.hidden_size;
    const int64_t inner = config.intermediate_size;
    const int64_t queries = config.num_attention_heads * config.head_dim;
    const int64_t keys = config.num_key_value_heads * config.head_dim;
    for (const LayerType layer : config.layers) {
      if (layer == LayerType::kLinearAttention) {
        Add(config.conv_dim() + config.value_dim() +
                2 * config.linear_num_value_heads,
            hidden);
        Add(hidden, config.value_dim());
      } else {
        Add(2 * queries + 2 * keys, hidden);
        Add(hidden, queries);
      }
      Add(2 * inner, hidden);
      Add(hidden, inner);
    }
  }

  void Prepare(int64_t rows) {
    int64_t inputs = 0;
    int64_t outputs = 0;
    for (const Weights& weights : weights_) {
      inputs = std::max(inputs, weights.inputs);
      outputs = std::max(outputs, weights.outputs);
    }
    // Room for either type; each half, like the whole, is a number near 1.
    x_.assign(static_cast<size_t>(rows * inputs), 0x3f803f80);
    y_.assign(static_cast<size_t>(rows * outputs), 0.0F);
    runs_.clear();
    for (const Weights& weights : weights_) {
      const auto description = Describe(rows, weights.outputs, weights.inputs,
                                        weights.packed.get_desc());
      runs_.push_back({dnnl::matmul(description),
                       memory(description.src_desc(), engine_, x_.data()),
                       weights.packed,
                       memory(description.dst_desc(), engine_, y_.data())});
    }
  }

  void RunAll() {
    for (Run& run : runs_) {
      run.primitive.execute(stream_, {{DNNL_ARG_SRC, run.x},
                                      {DNNL_ARG_WEIGHTS, run.weights},
                                      {DNNL_ARG_DST, run.y}});
    }
    stream_.wait();
  }

 private:
  struct Weights {
    int64_t outputs;
    int64_t inputs;
    memory packed;
  };
  struct Run {
    dnnl::matmul primitive;
    memory x;
    memory weights;
    memory y;
  };

  dnnl::matmul::primitive_desc Describe(int64_t rows, int64_t outputs,
                                        int64_t inputs,
                                        const memory::desc& weights) const {
    const memory::desc x({rows, inputs}, type_, memory::format_tag::ab);
    const memory::desc y({rows, outputs}, memory::data_type::f32,
                         memory::format_tag::ab);
    return {dnnl::matmul::desc(x, weights, y), engine_};
  }

  void Add(int64_t outputs, int64_t inputs) {
    std::vector<float> plain(static_cast<size_t>(outputs * inputs));
    for (size_t i = 0; i < plain.size(); ++i) {
      plain[i] = static_cast<float>((i * 7919) % 255) / 128.0F - 1.0F;
    }
    memory source(
        {{inputs, outputs}, memory::data_type::f32, memory::format_tag::ba},
        engine_, plain.data());
    const auto description = Describe(
        512, outputs, inputs,
        memory::desc({inputs, outputs}, type_, memory::format_tag::any));
    memory packed(description.weights_desc(), engine_);
    dnnl::reorder(source, packed).execute(stream_, source, packed);
    stream_.wait();
    weights_.push_back({outputs, inputs, std::move(packed)});
  }

  const memory::data_type type_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Weights> weights_;
  std::vector<Run> runs_;
  std::vector<uint32_t> x_;
  std::vector<float> y_;
};

double MedianMs(std::vector<double> seconds) {
  const auto middle = seconds.begin() + seconds.size() / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle * 1e3;
}

template <typename Body>
double Seconds(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  return spent.count();
}

// Both sides of one precision, loaded once.
struct Sides {
  explicit Sides(CpuPrecision precision) {
    auto shape = FindShape("qwen3.5-0.8b");
    CHECK(shape.ok()) << shape.status();
    const Config& config = *shape;
    RandomWeights weights(config);
    auto loaded = CpuDecoder::Load(weights, config, {precision, 0});
    CHECK(loaded.ok()) << loaded.status();
    decoder = *std::move(loaded);
    ops::UseThreads(decoder->threads());
    products = std::make_unique<Products>(
        config, decoder->operand() == ops::Operand::kBF16
                    ? memory::data_type::bf16
                    : memory::data_type::f32);
  }
  std::unique_ptr<CpuDecoder> decoder;
  std::unique_ptr<Products> products;
};

void Forward(benchmark::State& state, CpuPrecision precision) {
  if (precision == CpuPrecision::kBF16 && !ops::HasFastBf16()) {
    state.SkipWithError("this processor has no AVX512-BF16 instructions");
    return;
  }
  // One precision at a time in memory.
  static std::optional<CpuPrecision> loaded;
  static std::unique_ptr<Sides> sides;
  if (loaded != precision) {
    sides.reset();
    sides = std::make_unique<Sides>(precision);
    loaded = precision;
  }
  const int64_t tokens = state.range(0);
  Plan plan;
  plan.sequences.emplace_back();
  for (int64_t t = 0; t < tokens; ++t) {
    plan.sequences[0].push_back(static_cast<uint32_t>(t * 7919 % 248320));
  }
  sides->products->Prepare(tokens);
  std::vector<double> forward;
  std::vector<double> products;
  // Plans and pages of both sides.
  sides->products->RunAll();
  CHECK(sides->decoder->Forward(plan).ok());
  while (state.KeepRunning()) {
    products.push_back(Seconds([&] { sides->products->RunAll(); }));
    forward.push_back(
        Seconds([&] { CHECK(sides->decoder->Forward(plan).ok()); }));
    state.SetIterationTime(forward.back());
  }
  const double forward_ms = MedianMs(forward);
  const double products_ms = MedianMs(products);
  state.counters["forward_ms"] = forward_ms;
  state.counters["products_ms"] = products_ms;
  state.counters["ratio"] = products_ms / forward_ms;
  state.counters["tokens_per_s"] =
      static_cast<double>(tokens) / forward_ms * 1e3;
}

BENCHMARK_CAPTURE(Forward, bf16, CpuPrecision::kBF16)
    ->Arg(64)
    ->Arg(256)
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->MinTime(5);
BENCHMARK_CAPTURE(Forward, f32, CpuPrecision::kF32)
    ->Arg(64)
    ->Arg(256)
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->MinTime(5);

}  // namespace
}  // namespace omni::qwen3_5

BENCHMARK_MAIN();
