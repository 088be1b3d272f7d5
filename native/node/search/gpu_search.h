// Exact search on a GPU: the rows of an index, and of a finer form of them, uploaded once.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "node/search/search_work.h"
#include "ops/gpu/vectors.h"
#include "search/vectors/vector_index.h"

namespace seekrl::node {

struct GpuRequest {
  std::vector<float> queries_QD;  // finite
  int64_t top_k = 10;
  int64_t over_fetch = 1;
  int64_t num_rows = 0;                    // of the index, all of them stored
  std::optional<search::RowSet> excluded;  // removed rows among them
};

// Belongs to the device's thread but for its making.
class GpuSearch {
 public:
  // index: exact, of bf16, i8 or b1; rescore: exact, of f32 or bf16, or null.
  GpuSearch(std::shared_ptr<const search::VectorIndex> index, std::shared_ptr<const search::VectorIndex> rescore,
            at::Device device);

  const search::VectorIndex& index() const { return *index_; }

  // Brings the rows to the GPU that are not there yet, up to `num_rows`.
  void upload(int64_t num_rows);

  Found search(const GpuRequest& request);

 private:
  struct Wanted {
    int64_t num_candidates, top_k;
  };

  const at::Tensor& removed_mask();
  at::Tensor mask(const search::RowSet& rows) const;
  // On the GPU. hidden_N: see GpuVectors::search.
  ops::GpuHits nearest(const float* queries_QD, int64_t num_queries, const at::Tensor& hidden_N, const Wanted& wanted);

  std::shared_ptr<const search::VectorIndex> index_, rescore_;
  at::Device device_;
  ops::GpuVectors rows_;
  std::optional<ops::GpuVectors> finer_;
  std::shared_ptr<const search::RowSet> removed_;  // that mask_N_ is of
  at::Tensor mask_N_;
};

}  // namespace seekrl::node
