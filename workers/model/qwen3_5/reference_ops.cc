#include "workers/model/qwen3_5/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/logging.h"

namespace omni::qwen3_5 {
namespace {

// Under the root of the L2 norm of q and k; unlike the eps of the RMS norms no
// property of the checkpoint.
constexpr double kL2Eps = 1e-6;

double MeanSquare(absl::Span<const double> x) {
  return Dot(x, x) / static_cast<double>(x.size());
}

// Every row divided by its length, then multiplied by `scale`.
Matrix NormalizeRows(const Matrix& x, double scale) {
  Matrix y(x.rows(), x.columns());
  for (int64_t t = 0; t < x.rows(); ++t) {
    const double factor = scale / std::sqrt(Dot(x.row(t), x.row(t)) + kL2Eps);
    for (int64_t i = 0; i < x.columns(); ++i) {
      y.at(t, i) = x.at(t, i) * factor;
    }
  }
  return y;
}

void CheckShapes(const DeltaRuleInput& input) {
  const int64_t tokens = input.q.rows();
  CHECK(input.k.rows() == tokens && input.v.rows() == tokens);
  CHECK(static_cast<int64_t>(input.log_decay.size()) == tokens);
  CHECK(static_cast<int64_t>(input.beta.size()) == tokens);
  CHECK(input.q.columns() == input.k.columns());
}

double QueryScale(const DeltaRuleInput& input) {
  return 1 / std::sqrt(static_cast<double>(input.q.columns()));
}

// Replaces every row of `b` by that of the solution X of (I + A) X = B, A
// strictly lower triangular.
void SolveUnitLower(const Matrix& a, Matrix& b) {
  for (int64_t i = 0; i < b.rows(); ++i) {
    for (int64_t j = 0; j < i; ++j) {
      for (int64_t c = 0; c < b.columns(); ++c) {
        b.at(i, c) -= a.at(i, j) * b.at(j, c);
      }
    }
  }
}

// What a chunk of tokens first, first + 1, ... contributes; the state is the
// one before the chunk and becomes the one after it.
void AddChunk(const DeltaRuleInput& input, const Matrix& q, const Matrix& k,
              int64_t first, int64_t size, Matrix& state, Matrix& out) {
  const int64_t dk = k.columns();
  const int64_t dv = input.v.columns();
  std::vector<double> g(size);  // Sum of log_decay from the chunk's start.
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    sum += input.log_decay[first + i];
    g[i] = sum;
  }
  Matrix a(size, size);  // Strictly lower.
  Matrix p(size, size);  // Lower.
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      const double decay = std::exp(g[i] - g[j]);
      p.at(i, j) = Dot(q.row(first + i), k.row(first + j)) * decay;
      if (j == i) continue;
      a.at(i, j) = input.beta[first + i] *
                   Dot(k.row(first + i), k.row(first + j)) * decay;
    }
  }
  Matrix u(size, dv);
  Matrix w(size, dk);
  for (int64_t i = 0; i < size; ++i) {
    const double beta = input.beta[first + i];
    for (int64_t c = 0; c < dv; ++c) {
      u.at(i, c) = beta * input.v.at(first + i, c);
    }
    for (int64_t c = 0; c < dk; ++c) {
      w.at(i, c) = beta * std::exp(g[i]) * k.at(first + i, c);
    }
  }
  SolveUnitLower(a, u);
  SolveUnitLower(a, w);
  // From here on u holds what the tokens write into the state.
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t d = 0; d < dk; ++d) {
      for (int64_t c = 0; c < dv; ++c) {
        u.at(i, c) -= w.at(i, d) * state.at(d, c);
      }
    }
  }
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t c = 0; c < dv; ++c) {
      double o = 0;
      for (int64_t d = 0; d < dk; ++d) {
        o += std::exp(g[i]) * q.at(first + i, d) * state.at(d, c);
      }
      for (int64_t j = 0; j <= i; ++j) o += p.at(i, j) * u.at(j, c);
      out.at(first + i, c) = o;
    }
  }
  for (int64_t d = 0; d < dk; ++d) {
    for (int64_t c = 0; c < dv; ++c) {
      double s = std::exp(sum) * state.at(d, c);
      for (int64_t i = 0; i < size; ++i) {
        s += std::exp(sum - g[i]) * k.at(first + i, d) * u.at(i, c);
      }
      state.at(d, c) = s;
    }
  }
}

}  // namespace

Matrix::Matrix(int64_t columns, std::vector<double> values)
    : columns_(columns), values_(std::move(values)) {
  CHECK(columns > 0 && values_.size() % columns == 0);
}

Matrix Matrix::Slice(int64_t first, int64_t count) const {
  CHECK(first >= 0 && count >= 0 && first + count <= columns_);
  Matrix slice(rows(), count);
  for (int64_t r = 0; r < rows(); ++r) {
    for (int64_t c = 0; c < count; ++c) slice.at(r, c) = at(r, first + c);
  }
  return slice;
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double Silu(double x) { return x * Sigmoid(x); }

double Softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

double Dot(absl::Span<const double> a, absl::Span<const double> b) {
  CHECK(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Matrix Linear(const Matrix& x, const Matrix& weight) {
  Matrix y(x.rows(), weight.rows());
  for (int64_t t = 0; t < x.rows(); ++t) {
    for (int64_t o = 0; o < weight.rows(); ++o) {
      y.at(t, o) = Dot(x.row(t), weight.row(o));
    }
  }
  return y;
}

std::vector<double> ZeroCenteredRmsNorm(absl::Span<const double> x,
                                        absl::Span<const double> weight,
                                        double eps) {
  CHECK(x.size() == weight.size());
  const double factor = 1 / std::sqrt(MeanSquare(x) + eps);
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * factor * (1 + weight[i]);
  return y;
}

std::vector<double> GatedRmsNorm(absl::Span<const double> x,
                                 absl::Span<const double> weight,
                                 absl::Span<const double> gate, double eps) {
  CHECK(x.size() == weight.size() && x.size() == gate.size());
  const double factor = 1 / std::sqrt(MeanSquare(x) + eps);
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = x[i] * factor * weight[i] * Silu(gate[i]);
  }
  return y;
}

std::vector<float> InverseFrequencies(double theta, int rotary_dim) {
  CHECK(rotary_dim >= 0 && rotary_dim % 2 == 0);
  std::vector<float> frequencies(rotary_dim / 2);
  for (int i = 0; i < rotary_dim / 2; ++i) {
    const float exponent =
        static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
    // An FP32 power, correctly rounded.
    const float power =
        static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
    frequencies[i] = 1.0F / power;
  }
  return frequencies;
}

void RotateHead(absl::Span<double> head,
                absl::Span<const float> inverse_frequencies, int64_t position) {
  const size_t half = inverse_frequencies.size();
  CHECK(2 * half <= head.size());
  for (size_t i = 0; i < half; ++i) {
    const float angle = inverse_frequencies[i] * static_cast<float>(position);
    const double cosine = std::cos(static_cast<double>(angle));
    const double sine = std::sin(static_cast<double>(angle));
    const double first = head[i];
    const double second = head[i + half];
    head[i] = first * cosine - second * sine;
    head[i + half] = second * cosine + first * sine;
  }
}

Matrix ConvolveSilu(const Matrix& x, const Matrix& taps) {
  CHECK(x.columns() == taps.rows());
  const int64_t kernel = taps.columns();
  Matrix y(x.rows(), x.columns());
  for (int64_t t = 0; t < x.rows(); ++t) {
    for (int64_t c = 0; c < x.columns(); ++c) {
      double sum = 0;
      for (int64_t j = 0; j < kernel; ++j) {
        const int64_t source = t - (kernel - 1) + j;
        if (source >= 0) sum += taps.at(c, j) * x.at(source, c);
      }
      y.at(t, c) = Silu(sum);
    }
  }
  return y;
}

double LogDecay(double a, double a_log, double dt_bias) {
  return -std::exp(a_log) * Softplus(a + dt_bias);
}

DeltaRuleOutput DeltaRule(const DeltaRuleInput& input) {
  CheckShapes(input);
  const Matrix q = NormalizeRows(input.q, QueryScale(input));
  const Matrix k = NormalizeRows(input.k, 1);
  const int64_t dk = k.columns();
  const int64_t dv = input.v.columns();
  DeltaRuleOutput result = {Matrix(k.rows(), dv), Matrix(dk, dv)};
  Matrix& state = result.state;
  for (int64_t t = 0; t < k.rows(); ++t) {
    const double decay = std::exp(input.log_decay[t]);
    std::vector<double> read(dv);  // What the decayed state holds for this key.
    for (int64_t d = 0; d < dk; ++d) {
      for (int64_t c = 0; c < dv; ++c) {
        state.at(d, c) *= decay;
        read[c] += state.at(d, c) * k.at(t, d);
      }
    }
    for (int64_t d = 0; d < dk; ++d) {
      for (int64_t c = 0; c < dv; ++c) {
        const double error = input.v.at(t, c) - read[c];
        state.at(d, c) += k.at(t, d) * input.beta[t] * error;
        result.out.at(t, c) += state.at(d, c) * q.at(t, d);
      }
    }
  }
  return result;
}

DeltaRuleOutput ChunkedDeltaRule(const DeltaRuleInput& input, int chunk_size) {
  CheckShapes(input);
  CHECK(chunk_size > 0);
  const Matrix q = NormalizeRows(input.q, QueryScale(input));
  const Matrix k = NormalizeRows(input.k, 1);
  const int64_t tokens = k.rows();
  DeltaRuleOutput result = {Matrix(tokens, input.v.columns()),
                            Matrix(k.columns(), input.v.columns())};
  for (int64_t first = 0; first < tokens; first += chunk_size) {
    const int64_t size = std::min<int64_t>(chunk_size, tokens - first);
    AddChunk(input, q, k, first, size, result.state, result.out);
  }
  return result;
}

Matrix CausalAttention(const Matrix& q, const Matrix& k, const Matrix& v) {
  CHECK(q.rows() == k.rows() && k.rows() == v.rows());
  CHECK(q.columns() == k.columns());
  const double scale = 1 / std::sqrt(static_cast<double>(q.columns()));
  Matrix out(q.rows(), v.columns());
  for (int64_t t = 0; t < q.rows(); ++t) {
    std::vector<double> weights(t + 1);
    for (int64_t s = 0; s <= t; ++s) {
      weights[s] = Dot(q.row(t), k.row(s)) * scale;
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double& weight : weights) {
      weight = std::exp(weight - largest);
      sum += weight;
    }
    for (int64_t s = 0; s <= t; ++s) {
      const double probability = weights[s] / sum;
      for (int64_t c = 0; c < v.columns(); ++c) {
        out.at(t, c) += probability * v.at(s, c);
      }
    }
  }
  return out;
}

}  // namespace omni::qwen3_5
