#include "workers/model/qwen3_5/cpu_decoder.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "workers/model/ops/attention.h"
#include "workers/model/ops/buffer.h"
#include "workers/model/ops/gated_delta.h"
#include "workers/model/ops/parallel.h"
#include "workers/model/ops/rotary.h"
#include "workers/model/ops/row_ops.h"
#include "workers/model/ops/tile_kernels.h"
#include "workers/model/qwen3_5/cpu_weights.h"

namespace omni::qwen3_5 {
namespace {

using ops::LinearEngine;

constexpr int kMaxThreads = 1024;

// Rows of a block; whole tiles, so that chunks and tiles begin at multiples of
// their size in every block.
constexpr int64_t kBlockRows = LinearEngine::kMaxRows;
static_assert(kBlockRows % ops::kTile == 0);

// Rows of q|k|v that the convolution reads before a block.
constexpr int64_t kTailRows = 3;

// Consecutive rows of a sequence that pass through a layer together.
struct Block {
  int64_t begin = 0;
  int64_t rows = 0;
  int64_t padded = 0;  // Rows of its products.
  bool last = false;
};

// T is what a product's operands are stored as: float, or uint16_t for BF16.
template <typename T>
class TypedCpuDecoder : public CpuDecoder {
 public:
  TypedCpuDecoder(const Config& config, int threads,
                  std::unique_ptr<LinearEngine> engine, CpuWeights weights);

  const Config& config() const override { return config_; }
  ops::Operand operand() const override {
    return std::is_same_v<T, float> ? ops::Operand::kF32 : ops::Operand::kBF16;
  }
  int threads() const override { return threads_; }
  int64_t weight_bytes() const override { return weights_.bytes(); }

  absl::StatusOr<std::vector<std::vector<float>>> Forward(
      const Plan& plan) override;

 private:
  absl::Status Reserve(int64_t tokens);
  absl::Status RunLayer(size_t index, int64_t tokens);
  absl::Status RunDeltaNet(const CpuWeights::Layer& layer, const Block& block);
  absl::Status RunAttention(const CpuWeights::Layer& layer, const Block& block,
                            int64_t tokens);
  absl::Status RunMlp(const CpuWeights::Layer& layer, const Block& block);

  // Norms the block's rows of the residual stream into operand_.
  void NormRows(const std::vector<float>& scale, const Block& block);
  // Zeros the rows of operand_ that fill up the last block.
  void PadOperand(const Block& block, int64_t columns);
  float* residual(const Block& block) {
    return residual_.data() + block.begin * config_.hidden_size;
  }

  const Config config_;
  const int threads_;
  const std::unique_ptr<LinearEngine> engine_;
  const CpuWeights weights_;
  const ops::GatedDeltaShape delta_shape_;
  const ops::AttentionShape attention_shape_;
  ops::RotaryTable rotary_;

  ops::Buffer<float> residual_;   // [tokens, H]
  ops::Buffer<float> cache_;      // Keys and values of one layer.
  ops::Buffer<float> state_;      // DeltaNet's, of one layer.
  ops::Buffer<float> tail_;       // [3, conv_dim], q|k|v before a block.
  ops::Buffer<float> projected_;  // [tail and block, columns of a product]
  ops::Buffer<T> operand_;        // [block, columns of a product's input]
  ops::Buffer<float> scratch_;    // One piece for each thread.
  int64_t scratch_size_ = 0;
};

template <typename T>
TypedCpuDecoder<T>::TypedCpuDecoder(const Config& config, int threads,
                                    std::unique_ptr<LinearEngine> engine,
                                    CpuWeights weights)
    : config_(config),
      threads_(threads),
      engine_(std::move(engine)),
      weights_(std::move(weights)),
      delta_shape_{config.linear_num_key_heads, config.linear_num_value_heads,
                   config.linear_key_head_dim, config.linear_value_head_dim},
      attention_shape_{config.num_attention_heads, config.num_key_value_heads,
                       config.head_dim},
      rotary_(config.rope_theta, config.rotary_dim) {}

template <typename T>
absl::Status TypedCpuDecoder<T>::Reserve(int64_t tokens) {
  const auto has = [this](LayerType type) {
    return std::find(config_.layers.begin(), config_.layers.end(), type) !=
           config_.layers.end();
  };
  const int64_t inner = config_.intermediate_size;
  int64_t outputs = 2 * inner;
  int64_t inputs = std::max<int64_t>(config_.hidden_size, inner);
  int64_t scratch = 0;
  if (has(LayerType::kLinearAttention)) {
    outputs = std::max(outputs, delta_shape_.projected_columns());
    inputs = std::max(inputs, delta_shape_.value_dim());
    scratch = std::max(scratch, delta_shape_.scratch_size());
    RETURN_IF_ERROR(state_.Reserve(delta_shape_.state_size()));
    RETURN_IF_ERROR(tail_.Reserve(kTailRows * delta_shape_.conv_dim()));
  }
  if (has(LayerType::kFullAttention)) {
    outputs = std::max(outputs, attention_shape_.projected_columns());
    inputs = std::max(inputs, attention_shape_.out_columns());
    scratch = std::max(scratch, attention_shape_.scratch_size());
    RETURN_IF_ERROR(rotary_.Grow(tokens));
    RETURN_IF_ERROR(cache_.Reserve(attention_shape_.cache_size(tokens)));
  }
  const int64_t rows = std::min(kBlockRows, LinearEngine::PaddedRows(tokens));
  RETURN_IF_ERROR(projected_.Reserve((kTailRows + rows) * outputs));
  RETURN_IF_ERROR(operand_.Reserve(rows * inputs));
  // Whole cache lines apart.
  scratch_size_ = (scratch + 15) / 16 * 16;
  RETURN_IF_ERROR(scratch_.Reserve(threads_ * scratch_size_));
  return residual_.Reserve(LinearEngine::PaddedRows(tokens) *
                           config_.hidden_size);
}

template <typename T>
void TypedCpuDecoder<T>::PadOperand(const Block& block, int64_t columns) {
  std::fill(operand_.data() + block.rows * columns,
            operand_.data() + block.padded * columns, T{0});
}

template <typename T>
void TypedCpuDecoder<T>::NormRows(const std::vector<float>& scale,
                                  const Block& block) {
  const int64_t hidden = config_.hidden_size;
  constexpr int64_t kRowsAtOnce = 8;
  const float* const rows = residual(block);
  ops::ParallelFor(
      threads_, (block.rows + kRowsAtOnce - 1) / kRowsAtOnce,
      [&](int64_t part, int) {
        const int64_t end =
            std::min(block.rows, (part + 1) * kRowsAtOnce) * hidden;
        for (int64_t at = part * kRowsAtOnce * hidden; at < end; at += hidden) {
          ops::RmsNorm(rows + at, scale.data(),
                       static_cast<float>(config_.rms_norm_eps), hidden,
                       operand_.data() + at);
        }
      });
  PadOperand(block, hidden);
}

template <typename T>
absl::Status TypedCpuDecoder<T>::RunDeltaNet(const CpuWeights::Layer& layer,
                                             const Block& block) {
  const int64_t columns = delta_shape_.projected_columns();
  const int64_t conv_columns = delta_shape_.conv_dim();
  float* const rows = projected_.data() + kTailRows * columns;
  NormRows(layer.input_norm, block);
  RETURN_IF_ERROR(engine_->Run(layer.mixer_in, block.padded, operand_.data(),
                               /*add=*/false, rows));
  // What precedes the block; other products have used this memory since.
  for (int64_t i = 0; i < kTailRows; ++i) {
    float* const before = projected_.data() + i * columns;
    if (block.begin == 0) {
      std::fill_n(before, conv_columns, 0.0F);
    } else {
      std::copy_n(tail_.data() + i * conv_columns, conv_columns, before);
    }
  }

  ops::GatedDeltaWeights weights;
  weights.taps = layer.delta_net.taps.data();
  weights.decay_rate = layer.delta_net.decay_rate.data();
  weights.dt_bias = layer.delta_net.dt_bias.data();
  weights.norm = layer.delta_net.norm.data();
  weights.norm_eps = static_cast<float>(config_.rms_norm_eps);
  ops::GatedDeltaBlock tokens;
  tokens.projected = rows;
  tokens.stride = columns;
  tokens.rows = block.rows;
  tokens.first = block.begin == 0;
  tokens.last = block.last;
  ops::ParallelFor(
      threads_, delta_shape_.key_heads, [&](int64_t key_head, int worker) {
        ops::GatedDelta(delta_shape_, weights, tokens, key_head, state_.data(),
                        scratch_.data() + worker * scratch_size_,
                        operand_.data());
      });
  if (!block.last) {
    for (int64_t i = 0; i < kTailRows; ++i) {
      std::copy_n(rows + (block.rows - kTailRows + i) * columns, conv_columns,
                  tail_.data() + i * conv_columns);
    }
  }
  PadOperand(block, delta_shape_.value_dim());
  return engine_->Run(layer.mixer_out, block.padded, operand_.data(),
                      /*add=*/true, residual(block));
}

template <typename T>
absl::Status TypedCpuDecoder<T>::RunAttention(const CpuWeights::Layer& layer,
                                              const Block& block,
                                              int64_t tokens) {
  const int64_t columns = attention_shape_.projected_columns();
  const int64_t out_columns = attention_shape_.out_columns();
  NormRows(layer.input_norm, block);
  RETURN_IF_ERROR(engine_->Run(layer.mixer_in, block.padded, operand_.data(),
                               /*add=*/false, projected_.data()));

  ops::AttentionWeights weights;
  weights.query_norm = layer.attention.query_norm.data();
  weights.key_norm = layer.attention.key_norm.data();
  weights.norm_eps = static_cast<float>(config_.rms_norm_eps);
  const int64_t tiles = (block.rows + ops::kTile - 1) / ops::kTile;
  const auto tile_at = [&](int64_t index) {
    ops::TokenTile tile;
    tile.projected = projected_.data() + index * ops::kTile * columns;
    tile.stride = columns;
    tile.rows = std::min(ops::kTile, block.rows - index * ops::kTile);
    tile.position = block.begin + index * ops::kTile;
    return tile;
  };
  ops::ParallelFor(threads_, tiles * attention_shape_.kv_heads,
                   [&](int64_t part, int) {
                     ops::StoreKeysValues(attention_shape_, weights, rotary_,
                                          tile_at(part % tiles), part / tiles,
                                          tokens, cache_.data());
                   });
  // The last tiles look back furthest: they come first, so that the threads
  // end together.
  const int64_t heads = attention_shape_.heads;
  ops::ParallelFor(threads_, tiles * heads, [&](int64_t part, int worker) {
    const int64_t index = tiles - 1 - part / heads;
    ops::AttendTile(attention_shape_, weights, rotary_, tile_at(index),
                    part % heads, tokens, cache_.data(),
                    scratch_.data() + worker * scratch_size_,
                    operand_.data() + index * ops::kTile * out_columns);
  });
  PadOperand(block, out_columns);
  return engine_->Run(layer.mixer_out, block.padded, operand_.data(),
                      /*add=*/true, residual(block));
}

template <typename T>
absl::Status TypedCpuDecoder<T>::RunMlp(const CpuWeights::Layer& layer,
                                        const Block& block) {
  const int64_t inner = config_.intermediate_size;
  NormRows(layer.post_attention_norm, block);
  RETURN_IF_ERROR(engine_->Run(layer.mlp_in, block.padded, operand_.data(),
                               /*add=*/false, projected_.data()));
  ops::ParallelFor(threads_, block.rows, [&](int64_t row, int) {
    const float* const gate = projected_.data() + row * 2 * inner;
    ops::SiluMul(gate, gate + inner, inner, operand_.data() + row * inner);
  });
  PadOperand(block, inner);
  return engine_->Run(layer.mlp_out, block.padded, operand_.data(),
                      /*add=*/true, residual(block));
}

template <typename T>
absl::Status TypedCpuDecoder<T>::RunLayer(size_t index, int64_t tokens) {
  const CpuWeights::Layer& layer = weights_.layers[index];
  for (int64_t begin = 0; begin < tokens; begin += kBlockRows) {
    Block block;
    block.begin = begin;
    block.rows = std::min(kBlockRows, tokens - begin);
    block.padded = LinearEngine::PaddedRows(block.rows);
    block.last = begin + kBlockRows >= tokens;
    switch (config_.layers[index]) {
      case LayerType::kLinearAttention:
        RETURN_IF_ERROR(RunDeltaNet(layer, block));
        break;
      case LayerType::kFullAttention:
        RETURN_IF_ERROR(RunAttention(layer, block, tokens));
        break;
    }
    RETURN_IF_ERROR(RunMlp(layer, block));
  }
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<std::vector<std::vector<float>>> TypedCpuDecoder<T>::Forward(
    const Plan& plan) {
  RETURN_IF_ERROR(CheckPlan(plan, config_));
  const int64_t hidden = config_.hidden_size;
  std::vector<std::vector<float>> result;
  for (const std::vector<uint32_t>& sequence : plan.sequences) {
    const auto tokens = static_cast<int64_t>(sequence.size());
    RETURN_IF_ERROR(Reserve(tokens));
    for (int64_t t = 0; t < tokens; ++t) {
      weights_.embedding.Lookup(sequence[t], residual_.data() + t * hidden);
    }
    std::fill(residual_.data() + tokens * hidden,
              residual_.data() + LinearEngine::PaddedRows(tokens) * hidden,
              0.0F);
    for (size_t i = 0; i < weights_.layers.size(); ++i) {
      RETURN_IF_ERROR(RunLayer(i, tokens));
    }
    std::vector<float> row(static_cast<size_t>(hidden));
    ops::RmsNorm(residual_.data() + (tokens - 1) * hidden,
                 weights_.final_norm.data(),
                 static_cast<float>(config_.rms_norm_eps), hidden, row.data());
    result.push_back(std::move(row));
  }
  return result;
}

template <typename T>
absl::StatusOr<std::unique_ptr<CpuDecoder>> LoadAs(WeightSource& source,
                                                   const Config& config,
                                                   ops::Operand operand,
                                                   int threads) {
  ASSIGN_OR_RETURN(std::unique_ptr<LinearEngine> engine,
                   LinearEngine::Create(operand, threads));
  ASSIGN_OR_RETURN(CpuWeights weights,
                   LoadCpuWeights(source, config, operand, *engine));
  return std::make_unique<TypedCpuDecoder<T>>(
      config, threads, std::move(engine), std::move(weights));
}

}  // namespace

absl::Status CpuDecoder::CheckOptions(const CpuDecoderOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "threads must be 0 to %d, not %d", kMaxThreads, options.threads));
  }
  if (options.precision == CpuPrecision::kBF16 && !ops::HasFastBf16()) {
    return absl::FailedPreconditionError(
        "precision bf16 needs AVX512-BF16 instructions, which this processor "
        "does not have (or DNNL_MAX_CPU_ISA forbids); use f32 or auto");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CpuDecoder>> CpuDecoder::Load(
    WeightSource& source, const Config& config,
    const CpuDecoderOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (config.conv_kernel != kTailRows + 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("linear_conv_kernel_dim must be %d, not %d",
                        kTailRows + 1, config.conv_kernel));
  }
  const int threads =
      options.threads == 0 ? ops::AvailableThreads() : options.threads;
  const bool bf16 =
      options.precision == CpuPrecision::kBF16 ||
      (options.precision == CpuPrecision::kAuto && ops::HasFastBf16());
  if (bf16) {
    return LoadAs<uint16_t>(source, config, ops::Operand::kBF16, threads);
  }
  return LoadAs<float>(source, config, ops::Operand::kF32, threads);
}

}  // namespace omni::qwen3_5
