#ifndef OMNI_WORKERS_MODEL_OPS_ROW_OPS_H_
#define OMNI_WORKERS_MODEL_OPS_ROW_OPS_H_

// The element-wise and row-wise steps between the matrix products of a
// decoder layer. Every function computes in FP32, picks the widest instruction
// set of the processor when it is called, accepts any alignment and touches
// exactly the elements that its comment names. Results that feed a product are
// written as the product wants them: as FP32 (float) or rounded to BF16
// (uint16_t bit patterns; to nearest, ties to even). A NaN makes every result
// that depends on it NaN.
//
// Thread-safe: no state.

#include <cstdint>

namespace omni::ops {

// out[i] = x[i] as BF16, i < count.
void RoundToBf16(const float* x, int64_t count, uint16_t* out);

// out[i] = x[i] * rsqrt(mean(x^2) + eps) * scale[i], i < count. Norms of the
// form (1 + w) pass 1 + w as their scale.
void RmsNorm(const float* x, const float* scale, float eps, int64_t count,
             float* out);
void RmsNorm(const float* x, const float* scale, float eps, int64_t count,
             uint16_t* out);

// out[i] = scale[i] * x[i] * rsqrt(mean(x^2) + eps) * silu(z[i]), i < count.
void GatedRmsNorm(const float* x, const float* z, const float* scale, float eps,
                  int64_t count, float* out);
void GatedRmsNorm(const float* x, const float* z, const float* scale, float eps,
                  int64_t count, uint16_t* out);

// out[i] = silu(gate[i]) * up[i], i < count.
void SiluMul(const float* gate, const float* up, int64_t count, float* out);
void SiluMul(const float* gate, const float* up, int64_t count, uint16_t* out);

// out[i] = x[i] * factor * sigmoid(gate[i]), i < count.
void SigmoidGate(const float* x, float factor, const float* gate, int64_t count,
                 float* out);
void SigmoidGate(const float* x, float factor, const float* gate, int64_t count,
                 uint16_t* out);

// RmsNorm of x[0, count), then the rotation of the pairs (i, i + rotary_half)
// by the angle whose cosine and sine are cos[i] and sin[i], i < rotary_half
// (2 * rotary_half <= count), then times `factor`.
void NormRotate(const float* x, const float* scale, float eps, int64_t count,
                const float* cos, const float* sin, int64_t rotary_half,
                float factor, float* out);

// A causal depthwise convolution with four taps, then SiLU:
// out[r * out_stride + c] = silu(sum over j < 4 of
//     taps[j * taps_stride + c] * x[(r - 3 + j) * stride + c]),
// r < rows, c < channels. The three rows before x must exist; they are zeros at
// the start of a sequence.
void ConvSilu(int64_t rows, int64_t channels, const float* x, int64_t stride,
              const float* taps, int64_t taps_stride, float* out,
              int64_t out_stride);

// x[r * stride + i] *= factor / sqrt(sum of the row's squares + 1e-6),
// r < rows, i < count.
void L2Normalize(int64_t rows, int64_t count, float factor, float* x,
                 int64_t stride);

}  // namespace omni::ops

#endif  // OMNI_WORKERS_MODEL_OPS_ROW_OPS_H_
