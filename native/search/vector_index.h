// Nearest vectors to a query: what the exact index and the graph have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "search/blob.h"
#include "search/vector_codec.h"

namespace seekrl::search {

class VectorIndex {
 public:
  virtual ~VectorIndex() = default;

  // vectors_ND: f32, finite, at the rows first, first + 1, ... below `capacity`; a row's number is the id that a search
  // returns. Not of a mapped index. Several threads may add different rows at once; the rows are there once every one
  // of them has returned.
  virtual void add(int64_t first, const float* vectors_ND, int64_t num_vectors) = 0;

  // queries_QD: f32, finite. Writes ids_QK and scores_QK (the cosine or the inner product), best first; -1 and 0 where
  // the index holds fewer than `top_k`. From any thread.
  virtual void search(const float* queries_QD, int64_t num_queries, int64_t top_k, int32_t* ids_QK,
                      float* scores_QK) const = 0;

  // Whole or not at all.
  virtual void save(const std::string& path) const = 0;

  // How many queries one call of `search` takes best when there are plenty.
  virtual int64_t queries_per_task() const = 0;

  // An opened index is read-only.
  virtual bool is_mapped() const = 0;
  virtual int64_t count() const = 0;
  virtual int64_t capacity() const = 0;
  virtual const VectorFormat& format() const = 0;
};

// The first four numbers of both kinds of file.
BlobNumbers numbers_of(const VectorIndex& index);
VectorFormat format_from(const BlobNumbers& numbers);

}  // namespace seekrl::search
