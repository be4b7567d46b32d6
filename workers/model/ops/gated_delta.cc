#include "workers/model/ops/gated_delta.h"

#include <algorithm>
#include <cmath>

#include "workers/model/ops/row_ops.h"
#include "workers/model/ops/small_matmul.h"
#include "workers/model/ops/tile_kernels.h"

namespace omni::ops {
namespace {

// Results are computed in groups of four rows; chunks are padded to them with
// rows that change nothing.
constexpr int64_t kRowGroup = 4;

// Where the matrices of one call lie in its scratch memory; scratch_size() is
// their sum.
struct Scratch {
  Scratch(const GatedDeltaShape& shape, float* memory)
      : value_columns(PaddedColumns(shape.value_head_dim)) {
    const auto take = [&memory](int64_t size) {
      float* const taken = memory;
      memory += size;
      return taken;
    };
    keys_queries = take(2 * kTile * shape.key_head_dim);
    keys_transposed = take(kTile * shape.key_head_dim);
    pairs = take(2 * kTile * kTile);
    read = take(2 * kTile * value_columns);
    values = take(kTile * value_columns);
    corrections = take(kTile * kTile);
    attention = take(kTile * kTile);
    decay_sum = take(kTile);
    decay = take(kTile);
    remaining = take(kTile);
    beta = take(kTile);
  }

  int64_t value_columns;
  float* keys_queries;     // [n, Dk] of the keys, then [n, Dk] of the queries.
  float* keys_transposed;  // [Dk, kTile]
  float* pairs;            // [n, kTile] key by key, then query by key.
  float* read;             // [n, columns] keys from the state, then queries.
  float* values;           // [n, columns], v and then the corrections d.
  float* corrections;      // [n, kTile], -A.
  float* attention;        // [n, kTile], P.
  float* decay_sum;        // G.
  float* decay;            // exp(G).
  float* remaining;        // exp(G_last - G).
  float* beta;
};

float Softplus(float x) { return x > 20.0F ? x : std::log1p(std::exp(x)); }

float SigmoidOf(float x) { return 1.0F / (1.0F + std::exp(-x)); }

// One chunk of one sequence: `rows` tokens, padded to `padded` rows.
struct Chunk {
  const float* projected;
  int64_t rows;
  int64_t padded;
  bool first;
  bool last;
};

void PrepareKeysAndQueries(const GatedDeltaShape& shape,
                           const GatedDeltaWeights& weights, int64_t stride,
                           int64_t key_head, const Chunk& chunk,
                           Scratch& scratch) {
  const int64_t dim = shape.key_head_dim;
  float* const keys = scratch.keys_queries;
  float* const queries = keys + chunk.padded * dim;
  const int64_t query_column = key_head * dim;
  const int64_t key_column = shape.key_dim() + query_column;
  ConvSilu(chunk.rows, dim, chunk.projected + key_column, stride,
           weights.taps + key_column, shape.conv_dim(), keys, dim);
  ConvSilu(chunk.rows, dim, chunk.projected + query_column, stride,
           weights.taps + query_column, shape.conv_dim(), queries, dim);
  L2Normalize(chunk.rows, dim, 1.0F, keys, dim);
  L2Normalize(chunk.rows, dim, 1.0F / std::sqrt(static_cast<float>(dim)),
              queries, dim);
  std::fill(keys + chunk.rows * dim, queries, 0.0F);
  std::fill(queries + chunk.rows * dim, queries + chunk.padded * dim, 0.0F);
  if (chunk.padded < kTile) {
    std::fill_n(scratch.keys_transposed, dim * kTile, 0.0F);
  }
  Transpose(chunk.padded, dim, keys, dim, scratch.keys_transposed, kTile);
  MatMul(2 * chunk.padded, kTile, dim, keys, dim, scratch.keys_transposed,
         kTile, 0.0F, scratch.pairs, kTile);
}

void PrepareGates(const GatedDeltaShape& shape,
                  const GatedDeltaWeights& weights, int64_t stride,
                  int64_t head, const Chunk& chunk, Scratch& scratch) {
  const float* const b =
      chunk.projected + shape.conv_dim() + shape.value_dim() + head;
  const float* const a = b + shape.value_heads;
  float sum = 0;
  for (int64_t i = 0; i < kTile; ++i) {
    // Tokens that do not exist neither decay nor correct the state.
    float beta = 0;
    if (i < chunk.rows) {
      beta = SigmoidOf(b[i * stride]);
      sum += weights.decay_rate[head] *
             Softplus(a[i * stride] + weights.dt_bias[head]);
    }
    scratch.beta[i] = beta;
    scratch.decay_sum[i] = sum;
    scratch.decay[i] = std::exp(sum);
  }
  for (int64_t i = 0; i < kTile; ++i) {
    scratch.remaining[i] = std::exp(sum - scratch.decay_sum[i]);
  }
}

// Computes the outputs of one value head into scratch.read[padded, columns]
// (its second half) and moves `state` past the chunk.
float* RunChunk(const GatedDeltaShape& shape, const GatedDeltaWeights& weights,
                int64_t stride, int64_t head, const Chunk& chunk, float* state,
                Scratch& scratch) {
  const int64_t columns = scratch.value_columns;
  const int64_t dim = shape.value_head_dim;
  PrepareGates(shape, weights, stride, head, chunk, scratch);
  std::fill_n(scratch.values, chunk.padded * columns, 0.0F);
  const int64_t value_column = 2 * shape.key_dim() + head * dim;
  ConvSilu(chunk.rows, dim, chunk.projected + value_column, stride,
           weights.taps + value_column, shape.conv_dim(), scratch.values,
           columns);

  float* const out = scratch.read + chunk.padded * columns;
  const float* from_state = nullptr;
  if (chunk.first) {
    std::fill_n(out, chunk.padded * columns, 0.0F);
  } else {
    MatMul(2 * chunk.padded, columns, shape.key_head_dim, scratch.keys_queries,
           shape.key_head_dim, state, columns, 0.0F, scratch.read, columns);
    from_state = scratch.read;
    ScaleRows(chunk.padded, columns, scratch.decay, out);
  }
  DeltaResidual(chunk.padded, columns, scratch.beta, scratch.decay, from_state,
                scratch.values);
  DecayedScores(chunk.padded, scratch.pairs,
                scratch.pairs + chunk.padded * kTile, scratch.decay_sum,
                scratch.beta, scratch.corrections, scratch.attention);
  SolveUnitLower(chunk.padded, columns, scratch.corrections, kTile,
                 scratch.values, columns);
  LowerMatMulAdd(chunk.padded, columns, scratch.attention, kTile,
                 scratch.values, columns, out, columns);
  if (!chunk.last) {
    ScaleRows(chunk.padded, columns, scratch.remaining, scratch.values);
    MatMul(shape.key_head_dim, columns, chunk.padded, scratch.keys_transposed,
           kTile, scratch.values, columns,
           chunk.first ? 0.0F : scratch.decay[kTile - 1], state, columns);
  }
  return out;
}

template <typename Out>
void GatedDeltaT(const GatedDeltaShape& shape, const GatedDeltaWeights& weights,
                 const GatedDeltaBlock& block, int64_t key_head, float* state,
                 float* memory, Out* out) {
  Scratch scratch(shape, memory);
  const int64_t ratio = shape.value_heads / shape.key_heads;
  const int64_t dim = shape.value_head_dim;
  const int64_t state_size = shape.key_head_dim * scratch.value_columns;
  for (int64_t begin = 0; begin < block.rows; begin += kTile) {
    Chunk chunk;
    chunk.projected = block.projected + begin * block.stride;
    chunk.rows = std::min(kTile, block.rows - begin);
    chunk.padded = (chunk.rows + kRowGroup - 1) / kRowGroup * kRowGroup;
    chunk.first = block.first && begin == 0;
    chunk.last = block.last && begin + kTile >= block.rows;
    PrepareKeysAndQueries(shape, weights, block.stride, key_head, chunk,
                          scratch);
    for (int64_t i = 0; i < ratio; ++i) {
      const int64_t head = key_head * ratio + i;
      const float* const rows =
          RunChunk(shape, weights, block.stride, head, chunk,
                   state + head * state_size, scratch);
      const float* const z = chunk.projected + shape.conv_dim() + head * dim;
      for (int64_t r = 0; r < chunk.rows; ++r) {
        GatedRmsNorm(rows + r * scratch.value_columns, z + r * block.stride,
                     weights.norm, weights.norm_eps, dim,
                     out + (begin + r) * shape.value_dim() + head * dim);
      }
    }
  }
}

}  // namespace

int64_t GatedDeltaShape::state_size() const {
  return value_heads * key_head_dim * PaddedColumns(value_head_dim);
}

int64_t GatedDeltaShape::scratch_size() const {
  const int64_t columns = PaddedColumns(value_head_dim);
  return kTile * (3 * key_head_dim + 3 * columns + 4 * kTile + 4);
}

void GatedDelta(const GatedDeltaShape& shape, const GatedDeltaWeights& weights,
                const GatedDeltaBlock& block, int64_t key_head, float* state,
                float* scratch, float* out) {
  GatedDeltaT(shape, weights, block, key_head, state, scratch, out);
}

void GatedDelta(const GatedDeltaShape& shape, const GatedDeltaWeights& weights,
                const GatedDeltaBlock& block, int64_t key_head, float* state,
                float* scratch, uint16_t* out) {
  GatedDeltaT(shape, weights, block, key_head, state, scratch, out);
}

}  // namespace omni::ops
