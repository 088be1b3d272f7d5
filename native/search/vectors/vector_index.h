// Nearest vectors to a query: what the exact index and the graph have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "search/blob.h"
#include "search/top_k.h"
#include "search/vectors/row_set.h"
#include "search/vectors/vector_rows.h"

namespace seekrl::search {

// What one search asks of an index.
struct SearchOptions {
  int64_t top_k = 10;
  int64_t expansion = 0;             // candidates that a graph keeps; 0: as the index was made
  const RowSet* excluded = nullptr;  // rows that are not found
};

class VectorIndex {
 public:
  virtual ~VectorIndex() = default;

  // vectors_ND: f32, finite, at the rows first, first + 1, ... below `capacity`; a row's number is the id that a search
  // returns. Not of a mapped index. Several threads may add different rows at once; the rows are there once every one
  // of them has returned.
  void add(int64_t first, const float* vectors_ND, int64_t num_vectors);
  // The same with rows of another index of the same width.
  void add_rows(int64_t first, const VectorIndex& from, const std::vector<int64_t>& from_rows);

  // Compares f32 queries_QD with the rows [begin, end) and offers what it finds to best_Q. From any thread.
  virtual void search(const float* queries_QD, int64_t num_queries, int64_t begin, int64_t end,
                      const SearchOptions& options, TopK* best_Q) const = 0;

  // The removed rows are never found again; their numbers and places stay. From any thread.
  void remove(const std::vector<int64_t>& rows);
  std::shared_ptr<const RowSet> removed() const;

  // Whole or not at all. Not while rows are added.
  virtual void save(const std::string& path) const = 0;

  // Rows that a search may cut into ranges to occupy more threads, and queries it takes best at once.
  virtual bool is_divisible() const = 0;
  virtual int64_t queries_per_task() const = 0;

  // An opened index is read-only unless it was read into memory.
  bool is_mapped() const { return blob_.has_value(); }
  int64_t count() const { return num_rows_; }
  int64_t capacity() const { return rows_.capacity(); }
  const VectorFormat& format() const { return rows_.format(); }
  const VectorRows& rows() const { return rows_; }

 protected:
  VectorIndex(VectorRows rows, int64_t count, std::optional<Blob> blob)
      : blob_(std::move(blob)), rows_(std::move(rows)), num_rows_(count) {}

  // Called after the row has been stored.
  virtual void link(int64_t row) = 0;

  // The rows of a file of either kind, read into memory where `capacity` is given and mapped where it is not.
  static VectorRows read_rows(const std::string& path, const Blob& blob, std::optional<int64_t> capacity);
  // Removed rows stand at the end of a file that has any.
  void write_removed(BlobWriter& file) const;
  void read_removed(const std::string& path, const Blob& blob, size_t offset);

  std::optional<Blob> blob_;  // what a mapped index points into
  VectorRows rows_;

 private:
  std::atomic<int64_t> num_rows_;
  mutable std::mutex removed_mutex_;
  std::shared_ptr<const RowSet> removed_;
};

// The first five numbers of both kinds of file: rows, width, metric, dtype, removed rows.
BlobNumbers numbers_of(const VectorIndex& index);
VectorFormat format_from(const BlobNumbers& numbers);

}  // namespace seekrl::search
