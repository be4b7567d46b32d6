#include "workers/model/qwen3_5/cpu_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/status_macros.h"
#include "workers/model/float_formats.h"
#include "workers/model/ops/row_ops.h"
#include "workers/model/ops/small_matmul.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni::qwen3_5 {
namespace {

// Numbers that are read at a time: 4 MiB in FP32.
constexpr int64_t kBlockElements = int64_t{1} << 20;

// Calls use(first_row, values) for blocks of rows of a matrix. The pages that
// were read are given back every few blocks: an embedding may be as large as
// everything else.
template <typename Use>
absl::Status ReadInBlocks(WeightSource& source, const std::string& name,
                          int64_t rows, int64_t columns,
                          std::vector<float>& block, const Use& use) {
  RETURN_IF_ERROR(CheckTensor(source, name, {rows, columns}));
  constexpr int kBlocksToKeep = 16;
  const int64_t step = std::max<int64_t>(1, kBlockElements / columns);
  int kept = 0;
  for (int64_t row = 0; row < rows; row += step) {
    const int64_t count = std::min(step, rows - row);
    block.resize(static_cast<size_t>(std::min(step, rows) * columns));
    const auto values = absl::MakeSpan(block).first(count * columns);
    RETURN_IF_ERROR(source.ReadRows(name, row, count, values));
    use(row, absl::MakeConstSpan(values));
    if (++kept == kBlocksToKeep) {
      source.Release(name);
      kept = 0;
    }
  }
  source.Release(name);
  return absl::OkStatus();
}

class Loader {
 public:
  Loader(WeightSource& source, const Config& config, ops::Operand operand,
         ops::LinearEngine& engine)
      : source_(source), config_(config), operand_(operand), engine_(engine) {}

  absl::StatusOr<CpuWeights> Load();

 private:
  struct Part {
    std::string name;
    int64_t rows;
  };

  // The matrices below one another, each [rows, columns], packed as one.
  absl::StatusOr<ops::LinearEngine::Weights> Stack(
      const std::vector<Part>& parts, int64_t columns);
  absl::StatusOr<std::vector<float>> Vector(const std::string& name,
                                            int64_t size);
  // 1 + w.
  absl::StatusOr<std::vector<float>> Norm(const std::string& name,
                                          int64_t size);
  absl::Status LoadDeltaNet(const std::string& prefix,
                            CpuWeights::Layer& layer);
  absl::Status LoadAttention(const std::string& prefix,
                             CpuWeights::Layer& layer);
  absl::StatusOr<CpuWeights::Layer> LoadLayer(int index);

  WeightSource& source_;
  const Config& config_;
  const ops::Operand operand_;
  ops::LinearEngine& engine_;
  std::string prefix_;
  std::vector<float> block_;
  // A stacked matrix before it is packed, as the operand type wants it.
  ops::Buffer<float> wide_;
  ops::Buffer<uint16_t> narrow_;
};

absl::StatusOr<ops::LinearEngine::Weights> Loader::Stack(
    const std::vector<Part>& parts, int64_t columns) {
  int64_t rows = 0;
  for (const Part& part : parts) rows += part.rows;
  const bool wide = operand_ == ops::Operand::kF32;
  if (wide) {
    RETURN_IF_ERROR(wide_.Reserve(rows * columns));
  } else {
    RETURN_IF_ERROR(narrow_.Reserve(rows * columns));
  }
  int64_t offset = 0;
  for (const Part& part : parts) {
    RETURN_IF_ERROR(ReadInBlocks(
        source_, prefix_ + part.name, part.rows, columns, block_,
        [&](int64_t row, absl::Span<const float> values) {
          const int64_t begin = offset + row * columns;
          if (wide) {
            std::copy(values.begin(), values.end(), wide_.data() + begin);
          } else {
            ops::RoundToBf16(values.data(), static_cast<int64_t>(values.size()),
                             narrow_.data() + begin);
          }
        }));
    offset += part.rows * columns;
  }
  return engine_.Pack(
      rows, columns,
      wide ? static_cast<const void*>(wide_.data()) : narrow_.data());
}

absl::StatusOr<std::vector<float>> Loader::Vector(const std::string& name,
                                                  int64_t size) {
  const std::string full_name = prefix_ + name;
  ASSIGN_OR_RETURN(std::vector<float> values,
                   ReadTensor(source_, full_name, {size}));
  source_.Release(full_name);
  return values;
}

absl::StatusOr<std::vector<float>> Loader::Norm(const std::string& name,
                                                int64_t size) {
  ASSIGN_OR_RETURN(std::vector<float> values, Vector(name, size));
  for (float& value : values) value += 1.0F;
  return values;
}

absl::Status Loader::LoadDeltaNet(const std::string& prefix,
                                  CpuWeights::Layer& layer) {
  const int64_t heads = config_.linear_num_value_heads;
  const int64_t channels = config_.conv_dim();
  const std::string mixer = prefix + "linear_attn.";
  CpuWeights::DeltaNet& net = layer.delta_net;
  ASSIGN_OR_RETURN(layer.mixer_in,
                   Stack({{mixer + "in_proj_qkv.weight", channels},
                          {mixer + "in_proj_z.weight", config_.value_dim()},
                          {mixer + "in_proj_b.weight", heads},
                          {mixer + "in_proj_a.weight", heads}},
                         config_.hidden_size));
  ASSIGN_OR_RETURN(layer.mixer_out,
                   Stack({{mixer + "out_proj.weight", config_.hidden_size}},
                         config_.value_dim()));
  const std::string conv = prefix_ + mixer + "conv1d.weight";
  const int64_t kernel = config_.conv_kernel;
  ASSIGN_OR_RETURN(const std::vector<float> by_channel,
                   ReadTensor(source_, conv, {channels, 1, kernel}));
  source_.Release(conv);
  net.taps.resize(by_channel.size());
  ops::Transpose(channels, kernel, by_channel.data(), kernel, net.taps.data(),
                 channels);
  ASSIGN_OR_RETURN(net.decay_rate, Vector(mixer + "A_log", heads));
  for (float& value : net.decay_rate) value = -std::exp(value);
  ASSIGN_OR_RETURN(net.dt_bias, Vector(mixer + "dt_bias", heads));
  ASSIGN_OR_RETURN(
      net.norm, Vector(mixer + "norm.weight", config_.linear_value_head_dim));
  return absl::OkStatus();
}

absl::Status Loader::LoadAttention(const std::string& prefix,
                                   CpuWeights::Layer& layer) {
  const int64_t dim = config_.head_dim;
  const int64_t queries = config_.num_attention_heads * dim;
  const int64_t keys = config_.num_key_value_heads * dim;
  const std::string mixer = prefix + "self_attn.";
  ASSIGN_OR_RETURN(layer.mixer_in,
                   Stack({{mixer + "q_proj.weight", 2 * queries},
                          {mixer + "k_proj.weight", keys},
                          {mixer + "v_proj.weight", keys}},
                         config_.hidden_size));
  ASSIGN_OR_RETURN(
      layer.mixer_out,
      Stack({{mixer + "o_proj.weight", config_.hidden_size}}, queries));
  ASSIGN_OR_RETURN(layer.attention.query_norm,
                   Norm(mixer + "q_norm.weight", dim));
  ASSIGN_OR_RETURN(layer.attention.key_norm,
                   Norm(mixer + "k_norm.weight", dim));
  return absl::OkStatus();
}

absl::StatusOr<CpuWeights::Layer> Loader::LoadLayer(int index) {
  const std::string prefix = LayerPrefix(index);
  const int64_t hidden = config_.hidden_size;
  const int64_t inner = config_.intermediate_size;
  CpuWeights::Layer layer;
  switch (config_.layers[index]) {
    case LayerType::kLinearAttention:
      RETURN_IF_ERROR(LoadDeltaNet(prefix, layer));
      break;
    case LayerType::kFullAttention:
      RETURN_IF_ERROR(LoadAttention(prefix, layer));
      break;
  }
  ASSIGN_OR_RETURN(layer.input_norm,
                   Norm(prefix + "input_layernorm.weight", hidden));
  ASSIGN_OR_RETURN(layer.post_attention_norm,
                   Norm(prefix + "post_attention_layernorm.weight", hidden));
  ASSIGN_OR_RETURN(layer.mlp_in,
                   Stack({{prefix + "mlp.gate_proj.weight", inner},
                          {prefix + "mlp.up_proj.weight", inner}},
                         hidden));
  ASSIGN_OR_RETURN(layer.mlp_out,
                   Stack({{prefix + "mlp.down_proj.weight", hidden}}, inner));
  return layer;
}

absl::StatusOr<CpuWeights> Loader::Load() {
  ASSIGN_OR_RETURN(prefix_, ResolvePrefix(source_));
  CpuWeights weights;
  // First: while it is copied, its file pages come on top.
  ASSIGN_OR_RETURN(
      weights.embedding,
      EmbeddingTable::Load(source_, prefix_ + "embed_tokens.weight",
                           config_.vocab_size, config_.hidden_size));
  for (size_t i = 0; i < config_.layers.size(); ++i) {
    ASSIGN_OR_RETURN(CpuWeights::Layer layer, LoadLayer(static_cast<int>(i)));
    weights.layers.push_back(std::move(layer));
  }
  ASSIGN_OR_RETURN(weights.final_norm,
                   Norm("norm.weight", config_.hidden_size));
  return weights;
}

}  // namespace

absl::StatusOr<EmbeddingTable> EmbeddingTable::Load(WeightSource& source,
                                                    const std::string& name,
                                                    int64_t rows,
                                                    int64_t columns) {
  RETURN_IF_ERROR(CheckTensor(source, name, {rows, columns}));
  EmbeddingTable table;
  table.dtype_ = source.Find(name)->dtype;
  table.rows_ = rows;
  table.columns_ = columns;
  if (table.dtype_ == DType::kF32) {
    RETURN_IF_ERROR(table.wide_.Reserve(rows * columns));
  } else {
    RETURN_IF_ERROR(table.narrow_.Reserve(rows * columns));
  }
  std::vector<float> block;
  RETURN_IF_ERROR(ReadInBlocks(
      source, name, rows, columns, block,
      [&](int64_t row, absl::Span<const float> values) {
        const int64_t begin = row * columns;
        switch (table.dtype_) {
          case DType::kF32:
            std::copy(values.begin(), values.end(), table.wide_.data() + begin);
            break;
          case DType::kBF16:
            std::transform(values.begin(), values.end(),
                           table.narrow_.data() + begin, FloatToBf16);
            break;
          case DType::kF16:
            std::transform(values.begin(), values.end(),
                           table.narrow_.data() + begin, FloatToF16);
            break;
        }
      }));
  return table;
}

void EmbeddingTable::Lookup(uint32_t id, float* out) const {
  const int64_t begin = id * columns_;
  switch (dtype_) {
    case DType::kF32:
      std::copy_n(wide_.data() + begin, columns_, out);
      break;
    case DType::kBF16:
      std::transform(narrow_.data() + begin, narrow_.data() + begin + columns_,
                     out, Bf16ToFloat);
      break;
    case DType::kF16:
      std::transform(narrow_.data() + begin, narrow_.data() + begin + columns_,
                     out, F16ToFloat);
      break;
  }
}

int64_t EmbeddingTable::bytes() const {
  return rows_ * columns_ * DTypeSize(dtype_);
}

int64_t CpuWeights::bytes() const {
  int64_t sum = embedding.bytes();
  for (const Layer& layer : layers) {
    sum += layer.mixer_in.bytes() + layer.mixer_out.bytes() +
           layer.mlp_in.bytes() + layer.mlp_out.bytes();
  }
  return sum;
}

absl::StatusOr<CpuWeights> LoadCpuWeights(WeightSource& source,
                                          const Config& config,
                                          ops::Operand operand,
                                          ops::LinearEngine& engine) {
  return Loader(source, config, operand, engine).Load();
}

}  // namespace omni::qwen3_5
