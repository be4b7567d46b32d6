#include "workers/model/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "workers/model/ops/row_ops.h"
#include "workers/model/ops/small_matmul.h"
#include "workers/model/ops/tile_kernels.h"

namespace omni::ops {
namespace {

int64_t TilesFor(int64_t tokens) { return (tokens + kTile - 1) / kTile; }

// Floats of one tile of one key head.
int64_t TileSize(const AttentionShape& shape) {
  return kTile * (shape.head_dim + PaddedColumns(shape.head_dim));
}

int64_t TileOffset(const AttentionShape& shape, int64_t tokens, int64_t kv_head,
                   int64_t tile) {
  return (kv_head * TilesFor(tokens) + tile) * TileSize(shape);
}

template <typename Out>
void AttendTileT(const AttentionShape& shape, const AttentionWeights& weights,
                 const RotaryTable& rotary, const TokenTile& tile, int64_t head,
                 int64_t tokens, const float* cache, float* scratch, Out* out) {
  const int64_t dim = shape.head_dim;
  const int64_t columns = PaddedColumns(dim);
  float* const queries = scratch;
  float* const scores = queries + kTile * dim;
  float* const acc = scores + kTile * kTile;
  float* const max = acc + kTile * columns;
  float* const sum = max + kTile;

  const float factor = 1.0F / std::sqrt(static_cast<float>(dim));
  const float* const projected = tile.projected + head * 2 * dim;
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t position = tile.position + r;
    NormRotate(projected + r * tile.stride, weights.query_norm,
               weights.norm_eps, dim, rotary.cos(position),
               rotary.sin(position), rotary.half(), factor, queries + r * dim);
  }
  std::fill_n(acc, tile.rows * columns, 0.0F);
  std::fill_n(max, kTile, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, kTile, 0.0F);

  const int64_t kv_head = head / (shape.heads / shape.kv_heads);
  const int64_t own = tile.position / kTile;
  for (int64_t t = 0; t <= own; ++t) {
    const float* const keys = cache + TileOffset(shape, tokens, kv_head, t);
    const float* const values = keys + kTile * dim;
    MatMul(tile.rows, kTile, dim, queries, dim, keys, kTile, 0.0F, scores,
           kTile);
    // In the tile of the queries themselves row i sees tokens 0 to i.
    SoftmaxTile(tile.rows, t == own ? 1 : kTile, scores, max, sum, columns,
                acc);
    MatMul(tile.rows, columns, t == own ? tile.rows : kTile, scores, kTile,
           values, columns, 1.0F, acc, columns);
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    SigmoidGate(acc + r * columns, 1.0F / sum[r],
                projected + r * tile.stride + dim, dim,
                out + r * shape.out_columns() + head * dim);
  }
}

}  // namespace

int64_t AttentionShape::cache_size(int64_t tokens) const {
  return kv_heads * TilesFor(tokens) * TileSize(*this);
}

int64_t AttentionShape::scratch_size() const {
  return kTile * (head_dim + kTile + PaddedColumns(head_dim) + 2);
}

void StoreKeysValues(const AttentionShape& shape,
                     const AttentionWeights& weights, const RotaryTable& rotary,
                     const TokenTile& tile, int64_t kv_head, int64_t tokens,
                     float* cache) {
  const int64_t dim = shape.head_dim;
  const int64_t columns = PaddedColumns(dim);
  float* const keys =
      cache + TileOffset(shape, tokens, kv_head, tile.position / kTile);
  float* const values = keys + kTile * dim;
  const float* const key_columns =
      tile.projected + 2 * shape.heads * dim + kv_head * dim;
  const float* const value_columns = key_columns + shape.kv_heads * dim;
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t position = tile.position + r;
    // The row of the values is where the key is made, before it is transposed.
    float* const row = values + r * columns;
    NormRotate(key_columns + r * tile.stride, weights.key_norm,
               weights.norm_eps, dim, rotary.cos(position),
               rotary.sin(position), rotary.half(), 1.0F, row);
  }
  Transpose(tile.rows, dim, values, columns, keys, kTile);
  for (int64_t d = 0; d < dim; ++d) {
    std::fill_n(keys + d * kTile + tile.rows, kTile - tile.rows, 0.0F);
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    float* const row = values + r * columns;
    std::copy_n(value_columns + r * tile.stride, dim, row);
    std::fill_n(row + dim, columns - dim, 0.0F);
  }
}

void AttendTile(const AttentionShape& shape, const AttentionWeights& weights,
                const RotaryTable& rotary, const TokenTile& tile, int64_t head,
                int64_t tokens, const float* cache, float* scratch,
                float* out) {
  AttendTileT(shape, weights, rotary, tile, head, tokens, cache, scratch, out);
}

void AttendTile(const AttentionShape& shape, const AttentionWeights& weights,
                const RotaryTable& rotary, const TokenTile& tile, int64_t head,
                int64_t tokens, const float* cache, float* scratch,
                uint16_t* out) {
  AttendTileT(shape, weights, rotary, tile, head, tokens, cache, scratch, out);
}

}  // namespace omni::ops
