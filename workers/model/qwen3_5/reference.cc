#include "workers/model/qwen3_5/reference.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "workers/model/qwen3_5/tensors.h"

namespace omni::qwen3_5 {
namespace {

struct AttentionWeights {
  Matrix q_proj;  // Rows of one head: D of the query, then D of its gate.
  Matrix k_proj, v_proj, o_proj;
  std::vector<double> q_norm, k_norm;  // [D].
};

struct DeltaNetWeights {
  Matrix in_proj_qkv, in_proj_z, in_proj_b, in_proj_a;
  Matrix conv1d;                       // [conv_dim, taps].
  std::vector<double> a_log, dt_bias;  // [value heads].
  std::vector<double> norm;            // [Dv], shared by the heads.
  Matrix out_proj;
};

struct LayerWeights {
  std::vector<double> input_layernorm, post_attention_layernorm;
  Matrix gate_proj, up_proj, down_proj;
  // The one that the layer's type says.
  AttentionWeights attention;
  DeltaNetWeights delta_net;
};

absl::StatusOr<Matrix> ReadMatrix(ReferenceDecoder::TensorReader read,
                                  const std::string& name, int64_t rows,
                                  int64_t columns) {
  ASSIGN_OR_RETURN(std::vector<double> values, read(name, {rows, columns}));
  return Matrix(columns, std::move(values));
}

absl::StatusOr<std::vector<double>> ReadVector(
    ReferenceDecoder::TensorReader read, const std::string& name,
    int64_t size) {
  return read(name, {size});
}

absl::StatusOr<AttentionWeights> ReadAttention(
    ReferenceDecoder::TensorReader read, const std::string& prefix,
    const Config& c) {
  const int64_t d = c.head_dim;
  const int64_t queries = c.num_attention_heads * d;
  const int64_t keys = c.num_key_value_heads * d;
  AttentionWeights w;
  ASSIGN_OR_RETURN(w.q_proj, ReadMatrix(read, prefix + "q_proj.weight",
                                        2 * queries, c.hidden_size));
  ASSIGN_OR_RETURN(w.k_proj, ReadMatrix(read, prefix + "k_proj.weight", keys,
                                        c.hidden_size));
  ASSIGN_OR_RETURN(w.v_proj, ReadMatrix(read, prefix + "v_proj.weight", keys,
                                        c.hidden_size));
  ASSIGN_OR_RETURN(w.o_proj, ReadMatrix(read, prefix + "o_proj.weight",
                                        c.hidden_size, queries));
  ASSIGN_OR_RETURN(w.q_norm, ReadVector(read, prefix + "q_norm.weight", d));
  ASSIGN_OR_RETURN(w.k_norm, ReadVector(read, prefix + "k_norm.weight", d));
  return w;
}

absl::StatusOr<DeltaNetWeights> ReadDeltaNet(
    ReferenceDecoder::TensorReader read, const std::string& prefix,
    const Config& c) {
  const int64_t h = c.hidden_size;
  const int64_t heads = c.linear_num_value_heads;
  DeltaNetWeights w;
  ASSIGN_OR_RETURN(
      w.in_proj_qkv,
      ReadMatrix(read, prefix + "in_proj_qkv.weight", c.conv_dim(), h));
  ASSIGN_OR_RETURN(w.in_proj_z, ReadMatrix(read, prefix + "in_proj_z.weight",
                                           c.value_dim(), h));
  ASSIGN_OR_RETURN(w.in_proj_b,
                   ReadMatrix(read, prefix + "in_proj_b.weight", heads, h));
  ASSIGN_OR_RETURN(w.in_proj_a,
                   ReadMatrix(read, prefix + "in_proj_a.weight", heads, h));
  ASSIGN_OR_RETURN(
      std::vector<double> taps,
      read(prefix + "conv1d.weight", {c.conv_dim(), 1, c.conv_kernel}));
  w.conv1d = Matrix(c.conv_kernel, std::move(taps));
  ASSIGN_OR_RETURN(w.a_log, ReadVector(read, prefix + "A_log", heads));
  ASSIGN_OR_RETURN(w.dt_bias, ReadVector(read, prefix + "dt_bias", heads));
  ASSIGN_OR_RETURN(w.norm, ReadVector(read, prefix + "norm.weight",
                                      c.linear_value_head_dim));
  ASSIGN_OR_RETURN(w.out_proj, ReadMatrix(read, prefix + "out_proj.weight", h,
                                          c.value_dim()));
  return w;
}

absl::StatusOr<LayerWeights> ReadLayer(ReferenceDecoder::TensorReader read,
                                       int index, const Config& c) {
  const std::string prefix = absl::StrFormat("layers.%d.", index);
  const int64_t h = c.hidden_size;
  LayerWeights w;
  switch (c.layers[index]) {
    case LayerType::kLinearAttention: {
      ASSIGN_OR_RETURN(w.delta_net,
                       ReadDeltaNet(read, prefix + "linear_attn.", c));
      break;
    }
    case LayerType::kFullAttention: {
      ASSIGN_OR_RETURN(w.attention,
                       ReadAttention(read, prefix + "self_attn.", c));
      break;
    }
  }
  ASSIGN_OR_RETURN(w.input_layernorm,
                   ReadVector(read, prefix + "input_layernorm.weight", h));
  ASSIGN_OR_RETURN(
      w.post_attention_layernorm,
      ReadVector(read, prefix + "post_attention_layernorm.weight", h));
  ASSIGN_OR_RETURN(w.gate_proj,
                   ReadMatrix(read, prefix + "mlp.gate_proj.weight",
                              c.intermediate_size, h));
  ASSIGN_OR_RETURN(w.up_proj, ReadMatrix(read, prefix + "mlp.up_proj.weight",
                                         c.intermediate_size, h));
  ASSIGN_OR_RETURN(w.down_proj,
                   ReadMatrix(read, prefix + "mlp.down_proj.weight", h,
                              c.intermediate_size));
  return w;
}

Matrix NormalizeRows(const Matrix& x, absl::Span<const double> weight,
                     double eps) {
  Matrix y(x.rows(), x.columns());
  for (int64_t t = 0; t < x.rows(); ++t) {
    absl::c_copy(ZeroCenteredRmsNorm(x.row(t), weight, eps), y.row(t).begin());
  }
  return y;
}

// Norm and rotation of the rows of one query or key head, [T, D].
Matrix NormalizeAndRotate(const Matrix& head, absl::Span<const double> weight,
                          const Config& c) {
  const std::vector<float> frequencies =
      InverseFrequencies(c.rope_theta, c.rotary_dim);
  Matrix y = NormalizeRows(head, weight, c.rms_norm_eps);
  for (int64_t t = 0; t < y.rows(); ++t) RotateHead(y.row(t), frequencies, t);
  return y;
}

Matrix FullAttention(const Matrix& x, const AttentionWeights& w,
                     const Config& c) {
  const int64_t d = c.head_dim;
  const Matrix queries_and_gates = Linear(x, w.q_proj);
  const Matrix keys = Linear(x, w.k_proj);
  const Matrix values = Linear(x, w.v_proj);
  const int heads_per_key = c.num_attention_heads / c.num_key_value_heads;
  Matrix heads(x.rows(), c.num_attention_heads * d);
  for (int h = 0; h < c.num_attention_heads; ++h) {
    const int64_t key_column = h / heads_per_key * d;
    const Matrix query =
        NormalizeAndRotate(queries_and_gates.Slice(2 * h * d, d), w.q_norm, c);
    const Matrix gate = queries_and_gates.Slice((2 * h + 1) * d, d);
    const Matrix key =
        NormalizeAndRotate(keys.Slice(key_column, d), w.k_norm, c);
    const Matrix out = CausalAttention(query, key, values.Slice(key_column, d));
    for (int64_t t = 0; t < x.rows(); ++t) {
      for (int64_t i = 0; i < d; ++i) {
        heads.at(t, h * d + i) = out.at(t, i) * Sigmoid(gate.at(t, i));
      }
    }
  }
  return Linear(heads, w.o_proj);
}

Matrix GatedDeltaNet(const Matrix& x, const DeltaNetWeights& w,
                     const Config& c) {
  const int64_t dk = c.linear_key_head_dim;
  const int64_t dv = c.linear_value_head_dim;
  const Matrix qkv = ConvolveSilu(Linear(x, w.in_proj_qkv), w.conv1d);
  const Matrix z = Linear(x, w.in_proj_z);
  const Matrix b = Linear(x, w.in_proj_b);
  const Matrix a = Linear(x, w.in_proj_a);
  const int heads_per_key = c.linear_num_value_heads / c.linear_num_key_heads;
  Matrix heads(x.rows(), c.value_dim());
  for (int h = 0; h < c.linear_num_value_heads; ++h) {
    const int64_t key_column = h / heads_per_key * dk;
    DeltaRuleInput input;
    input.q = qkv.Slice(key_column, dk);
    input.k = qkv.Slice(c.key_dim() + key_column, dk);
    input.v = qkv.Slice(2 * c.key_dim() + h * dv, dv);
    for (int64_t t = 0; t < x.rows(); ++t) {
      input.log_decay.push_back(LogDecay(a.at(t, h), w.a_log[h], w.dt_bias[h]));
      input.beta.push_back(Sigmoid(b.at(t, h)));
    }
    const Matrix out = DeltaRule(input).out;
    const Matrix gate = z.Slice(h * dv, dv);
    for (int64_t t = 0; t < x.rows(); ++t) {
      absl::c_copy(
          GatedRmsNorm(out.row(t), w.norm, gate.row(t), c.rms_norm_eps),
          heads.row(t).subspan(h * dv, dv).begin());
    }
  }
  return Linear(heads, w.out_proj);
}

Matrix Mlp(const Matrix& x, const LayerWeights& w) {
  Matrix product = Linear(x, w.up_proj);
  const Matrix gate = Linear(x, w.gate_proj);
  for (int64_t t = 0; t < x.rows(); ++t) {
    for (int64_t i = 0; i < product.columns(); ++i) {
      product.at(t, i) *= Silu(gate.at(t, i));
    }
  }
  return Linear(product, w.down_proj);
}

Matrix Sum(const Matrix& a, const Matrix& b) {
  Matrix sum(a.rows(), a.columns());
  for (int64_t t = 0; t < a.rows(); ++t) {
    for (int64_t i = 0; i < a.columns(); ++i) {
      sum.at(t, i) = a.at(t, i) + b.at(t, i);
    }
  }
  return sum;
}

}  // namespace

struct ReferenceDecoder::Weights {
  Matrix embed_tokens;  // [vocab, hidden].
  std::vector<LayerWeights> layers;
  std::vector<double> norm;
};

absl::StatusOr<std::unique_ptr<ReferenceDecoder>> ReferenceDecoder::Load(
    WeightSource& weights, const Config& config) {
  ASSIGN_OR_RETURN(const std::string prefix, ResolvePrefix(weights));
  return LoadFrom(
      config,
      [&](std::string_view name, absl::Span<const int64_t> shape)
          -> absl::StatusOr<std::vector<double>> {
        ASSIGN_OR_RETURN(
            const std::vector<float> values,
            ReadTensor(weights, absl::StrFormat("%s%s", prefix, name), shape));
        return std::vector<double>(values.begin(), values.end());
      });
}

absl::StatusOr<std::unique_ptr<ReferenceDecoder>> ReferenceDecoder::LoadFrom(
    const Config& config, TensorReader read) {
  auto weights = std::make_unique<Weights>();
  ASSIGN_OR_RETURN(weights->embed_tokens,
                   ReadMatrix(read, "embed_tokens.weight", config.vocab_size,
                              config.hidden_size));
  for (size_t i = 0; i < config.layers.size(); ++i) {
    ASSIGN_OR_RETURN(LayerWeights layer,
                     ReadLayer(read, static_cast<int>(i), config));
    weights->layers.push_back(std::move(layer));
  }
  ASSIGN_OR_RETURN(weights->norm,
                   ReadVector(read, "norm.weight", config.hidden_size));
  return std::unique_ptr<ReferenceDecoder>(
      new ReferenceDecoder(config, std::move(weights)));
}

ReferenceDecoder::ReferenceDecoder(const Config& config,
                                   std::unique_ptr<const Weights> weights)
    : config_(config), weights_(std::move(weights)) {}

ReferenceDecoder::~ReferenceDecoder() = default;

absl::StatusOr<std::vector<std::vector<float>>> ReferenceDecoder::Forward(
    const Plan& plan) {
  RETURN_IF_ERROR(CheckPlan(plan, config_));
  std::vector<std::vector<float>> rows;
  for (const std::vector<uint32_t>& sequence : plan.sequences) {
    ASSIGN_OR_RETURN(const Trace trace, Run(sequence));
    const absl::Span<const double> last =
        trace.final_norm.row(trace.final_norm.rows() - 1);
    rows.emplace_back(last.begin(), last.end());
  }
  return rows;
}

absl::StatusOr<ReferenceDecoder::Trace> ReferenceDecoder::Run(
    const std::vector<uint32_t>& sequence) const {
  RETURN_IF_ERROR(CheckPlan({.sequences = {sequence}}, config_));
  Matrix hidden(static_cast<int64_t>(sequence.size()), config_.hidden_size);
  for (int64_t t = 0; t < hidden.rows(); ++t) {
    absl::c_copy(weights_->embed_tokens.row(sequence[t]),
                 hidden.row(t).begin());
  }
  Trace trace;
  for (size_t i = 0; i < weights_->layers.size(); ++i) {
    const LayerWeights& layer = weights_->layers[i];
    const Matrix mixer_input =
        NormalizeRows(hidden, layer.input_layernorm, config_.rms_norm_eps);
    const Matrix mixed =
        config_.layers[i] == LayerType::kFullAttention
            ? FullAttention(mixer_input, layer.attention, config_)
            : GatedDeltaNet(mixer_input, layer.delta_net, config_);
    const Matrix after_mixer = Sum(hidden, mixed);
    const Matrix mlp_input = NormalizeRows(
        after_mixer, layer.post_attention_layernorm, config_.rms_norm_eps);
    hidden = Sum(after_mixer, Mlp(mlp_input, layer));
    trace.layers.push_back({after_mixer, hidden});
  }
  trace.final_norm =
      NormalizeRows(hidden, weights_->norm, config_.rms_norm_eps);
  return trace;
}

}  // namespace omni::qwen3_5
