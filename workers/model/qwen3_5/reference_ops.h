#ifndef OMNI_WORKERS_MODEL_QWEN3_5_REFERENCE_OPS_H_
#define OMNI_WORKERS_MODEL_QWEN3_5_REFERENCE_OPS_H_

// The operations of a Qwen3.5 layer in double precision, one loop per formula,
// to hold fast versions against. Shapes that do not fit together are broken
// invariants of the caller (CHECK). All functions are pure and thread-safe.
//
// The formulas are those of the Qwen3.5 text classes of the transformers
// package (modeling_qwen3_5.py).

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace omni::qwen3_5 {

// Dense row-major matrix.
class Matrix {
 public:
  Matrix() = default;
  Matrix(int64_t rows, int64_t columns)
      : columns_(columns), values_(rows * columns) {}
  // `values` has a multiple of `columns` elements.
  Matrix(int64_t columns, std::vector<double> values);

  int64_t rows() const {
    return columns_ == 0 ? 0 : static_cast<int64_t>(values_.size()) / columns_;
  }
  int64_t columns() const { return columns_; }

  absl::Span<double> row(int64_t r) {
    return absl::MakeSpan(values_).subspan(r * columns_, columns_);
  }
  absl::Span<const double> row(int64_t r) const {
    return absl::MakeConstSpan(values_).subspan(r * columns_, columns_);
  }
  double& at(int64_t r, int64_t c) { return values_[r * columns_ + c]; }
  double at(int64_t r, int64_t c) const { return values_[r * columns_ + c]; }

  // Columns [first, first + count) of every row.
  Matrix Slice(int64_t first, int64_t count) const;

 private:
  int64_t columns_ = 0;
  std::vector<double> values_;
};

double Sigmoid(double x);
double Silu(double x);
// log(1 + exp(x)); x itself above 20, as PyTorch does it.
double Softplus(double x);

double Dot(absl::Span<const double> a, absl::Span<const double> b);

// weight [out, in] times every row of x [T, in]: [T, out].
Matrix Linear(const Matrix& x, const Matrix& weight);

// x / sqrt(mean(x^2) + eps) * (1 + weight).
std::vector<double> ZeroCenteredRmsNorm(absl::Span<const double> x,
                                        absl::Span<const double> weight,
                                        double eps);

// x / sqrt(mean(x^2) + eps) * weight * silu(gate).
std::vector<double> GatedRmsNorm(absl::Span<const double> x,
                                 absl::Span<const double> weight,
                                 absl::Span<const double> gate, double eps);

// 1 / theta^(2i / rotary_dim) for i < rotary_dim / 2. FP32 like the model that
// was trained: far into a prompt the rounding of an angle is visible.
std::vector<float> InverseFrequencies(double theta, int rotary_dim);

// Rotates element i with element i + n, for i < n = inverse_frequencies.size(),
// by the angle inverse_frequencies[i] * position (rounded to FP32); leaves the
// elements from 2n on as they are.
void RotateHead(absl::Span<double> head,
                absl::Span<const float> inverse_frequencies, int64_t position);

// Depthwise causal convolution over time and SiLU. x [T, channels], taps
// [channels, kernel] with the current token's tap last; zeros precede x.
Matrix ConvolveSilu(const Matrix& x, const Matrix& taps);

// Logarithm of the state's decay: -exp(a_log) * softplus(a + dt_bias), <= 0.
double LogDecay(double a, double a_log, double dt_bias);

// One value head of the gated delta rule, from a state of zeros.
struct DeltaRuleInput {
  Matrix q;                       // [T, Dk], neither normalised nor scaled.
  Matrix k;                       // [T, Dk], not normalised.
  Matrix v;                       // [T, Dv].
  std::vector<double> log_decay;  // [T], <= 0.
  std::vector<double> beta;       // [T], in (0, 1).
};

struct DeltaRuleOutput {
  Matrix out;    // [T, Dv].
  Matrix state;  // [Dk, Dv] after the last token.
};

// Token by token: the definition.
DeltaRuleOutput DeltaRule(const DeltaRuleInput& input);

// The same in chunks of `chunk_size` tokens, by which fast versions turn most
// of the work into matrix products.
DeltaRuleOutput ChunkedDeltaRule(const DeltaRuleInput& input, int chunk_size);

// One head of causal softmax attention: q, k and v are [T, D]; scores are
// scaled by D^-0.5.
Matrix CausalAttention(const Matrix& q, const Matrix& k, const Matrix& v);

}  // namespace omni::qwen3_5

#endif  // OMNI_WORKERS_MODEL_QWEN3_5_REFERENCE_OPS_H_
