#ifndef OMNI_WORKERS_MODEL_OPS_ATTENTION_H_
#define OMNI_WORKERS_MODEL_OPS_ATTENTION_H_

#include <cstdint>

#include "workers/model/ops/rotary.h"

namespace omni::ops {

// Dimensions of causal grouped-query attention with a norm on queries and keys,
// partial rotation and a sigmoid gate on the output.
struct AttentionShape {
  int64_t heads = 0;
  int64_t kv_heads = 0;  // Divides heads.
  int64_t head_dim = 0;

  // Columns of the stacked projection: query | gate of head 0, of head 1, ...,
  // then the keys of all key heads, then their values.
  int64_t projected_columns() const {
    return 2 * (heads + kv_heads) * head_dim;
  }
  int64_t out_columns() const { return heads * head_dim; }
  // Floats that the keys and values of `tokens` tokens take.
  int64_t cache_size(int64_t tokens) const;
  // Floats of scratch memory that one AttendTile needs.
  int64_t scratch_size() const;
};

// What the attention learned, apart from its two products. FP32; not owned.
struct AttentionWeights {
  const float* query_norm = nullptr;  // [head_dim], 1 + w.
  const float* key_norm = nullptr;    // [head_dim], 1 + w.
  float norm_eps = 0;
};

// Up to 64 consecutive tokens of one sequence.
struct TokenTile {
  // [rows, projected_columns()] at distance `stride`.
  const float* projected = nullptr;
  int64_t stride = 0;
  int64_t rows = 0;
  int64_t position = 0;  // Of the first row; a multiple of 64.
};

// Puts the normed and rotated keys and the values of one key head into the
// sequence's cache, [kv_heads][tiles of 64 tokens][keys transposed, values],
// which was made for cache_size(tokens) floats. Tiles and key heads may be
// stored at the same time. `rotary` covers the tile's positions.
void StoreKeysValues(const AttentionShape& shape,
                     const AttentionWeights& weights, const RotaryTable& rotary,
                     const TokenTile& tile, int64_t kv_head, int64_t tokens,
                     float* cache);

// Attention of one head's queries of the tile over all tokens up to their own,
// whose keys and values are in the cache, times sigmoid(gate): columns
// [head * head_dim, (head + 1) * head_dim) of out[tile.rows, out_columns()], as
// FP32 or rounded to BF16. Scores exist for 64 by 64 tokens at a time, with a
// running maximum and sum for each query. Calls with different scratch may run
// at the same time.
void AttendTile(const AttentionShape& shape, const AttentionWeights& weights,
                const RotaryTable& rotary, const TokenTile& tile, int64_t head,
                int64_t tokens, const float* cache, float* scratch, float* out);
void AttendTile(const AttentionShape& shape, const AttentionWeights& weights,
                const RotaryTable& rotary, const TokenTile& tile, int64_t head,
                int64_t tokens, const float* cache, float* scratch,
                uint16_t* out);

}  // namespace omni::ops

#endif  // OMNI_WORKERS_MODEL_OPS_ATTENTION_H_
