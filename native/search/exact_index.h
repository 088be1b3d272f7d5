// Search by comparing with every vector: the reference, and the right choice up to some hundred thousand.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/vector_index.h"

namespace seekrl::search {

class ExactIndex : public VectorIndex {
 public:
  ExactIndex(VectorFormat format, int64_t capacity);
  // Maps a saved index; nothing can be added to it.
  static std::unique_ptr<ExactIndex> open(const std::string& path, Verify verify);

  void add(int64_t first, const float* vectors_ND, int64_t num_vectors) override;
  void search(const float* queries_QD, int64_t num_queries, int64_t top_k, int32_t* ids_QK,
              float* scores_QK) const override;
  void save(const std::string& path) const override;

  // A tile of queries is multiplied with each block of rows while that is in the cache.
  int64_t queries_per_task() const override { return 16; }
  bool is_mapped() const override { return blob_.has_value(); }
  int64_t count() const override { return num_rows_; }
  int64_t capacity() const override { return capacity_; }
  const VectorFormat& format() const override { return format_; }

  static constexpr BlobKind kKind = {'f', 'l', 'a', 't'};

 private:
  template <class Kernel>
  void search_with(const float* queries_QD, int64_t num_queries, int64_t top_k, int32_t* ids_QK,
                   float* scores_QK) const;

  VectorFormat format_;
  int64_t capacity_;
  std::atomic<int64_t> num_rows_{0};
  // Owned while building, mapped after opening; `rows_` points at whichever it is.
  std::vector<std::byte> owned_rows_;
  std::vector<float> owned_scales_;
  std::optional<Blob> blob_;
  const std::byte* rows_ = nullptr;
  const float* scales_ = nullptr;  // i8 only: 1 / |row|
};

}  // namespace seekrl::search
