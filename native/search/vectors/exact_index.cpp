// A tile of queries against block after block of rows; a threshold keeps the best.
#include "search/vectors/exact_index.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace seekrl::search {

namespace {

constexpr int64_t kBlockRows = 64;
// Queries that are looked at together.
constexpr int64_t kGroup = 32;

// Whether a row enters the list of any of these queries; almost none does, and this is the loop that says so.
bool reaches_any(const float* products_Q, float row_scale, const float* scales_Q, const float* thresholds_Q,
                 int64_t num_queries) {
  int is_any = 0;
  for (int64_t q = 0; q < num_queries; ++q) is_any |= products_Q[q] * row_scale * scales_Q[q] >= thresholds_Q[q];
  return is_any != 0;
}

// The queries of a scan.
struct Asked {
  Asked(const VectorFormat& format, const float* queries_QD, int64_t num_queries, const TopK* best_Q) {
    for (int64_t q = 0; q < num_queries; ++q) stored.emplace_back(format, queries_QD + q * format.dim);
    for (const StoredQuery& query : stored) pointers.push_back(query.data()), scales.push_back(query.scale);
    for (int64_t q = 0; q < num_queries; ++q) thresholds.push_back(best_Q[q].threshold());
  }

  int64_t count() const { return static_cast<int64_t>(stored.size()); }

  std::vector<StoredQuery> stored;
  std::vector<const std::byte*> pointers;
  std::vector<float> scales, thresholds;
};

// Offers a row to the queries whose lists it reaches.
void offer_row(const float* products_Q, float row_scale, int32_t id, Asked& asked, TopK* best_Q) {
  for (int64_t group = 0; group < asked.count(); group += kGroup) {
    const int64_t end = std::min(asked.count(), group + kGroup);
    float *scales = asked.scales.data(), *thresholds = asked.thresholds.data();
    if (!reaches_any(products_Q + group, row_scale, scales + group, thresholds + group, end - group)) continue;
    for (int64_t q = group; q < end; ++q) {
      const float score = products_Q[q] * row_scale * scales[q];
      if (!(score >= thresholds[q])) continue;
      best_Q[q].offer({score, id});
      thresholds[q] = best_Q[q].threshold();
    }
  }
}

}  // namespace

void scan_rows(const VectorRows& rows, Dots dots, const float* queries_QD, int64_t num_queries, int64_t begin,
               int64_t end, const SearchOptions& options, TopK* best_Q) {
  Asked asked(rows.format(), queries_QD, num_queries, best_Q);
  std::array<const std::byte*, kBlockRows> block;
  std::vector<float> products(static_cast<size_t>(kBlockRows * num_queries));
  for (int64_t first = begin; first < end; first += kBlockRows) {
    const int64_t num_block = std::min(kBlockRows, end - first);
    for (int64_t i = 0; i < num_block; ++i) block[static_cast<size_t>(i)] = rows.at(first + i);
    dots(block.data(), num_block, asked.pointers.data(), num_queries, rows.format().dim, products.data());
    for (int64_t i = 0; i < num_block; ++i) {
      const int64_t row = first + i;
      if (options.excluded != nullptr && options.excluded->has(row)) continue;
      offer_row(products.data() + i * num_queries, rows.scale(row), static_cast<int32_t>(row), asked, best_Q);
    }
  }
}

ExactIndex::ExactIndex(const VectorFormat& format, int64_t capacity)
    : ExactIndex((check_format(format), VectorRows(format, capacity)), 0, std::nullopt) {}

ExactIndex::ExactIndex(VectorRows rows, int64_t count, std::optional<Blob> blob)
    : VectorIndex(std::move(rows), count, std::move(blob)), dots_(dots_of(format().scalar)) {}

std::unique_ptr<ExactIndex> ExactIndex::open(const std::string& path, Verify verify, std::optional<int64_t> capacity) {
  Blob blob(path, kKind, verify);
  const int64_t count = blob.numbers()[0];
  VectorRows rows = read_rows(path, blob, capacity);
  const size_t num_bytes = VectorRows::section_bytes(rows.format(), count);
  std::unique_ptr<ExactIndex> index(new ExactIndex(std::move(rows), count, std::nullopt));
  index->read_removed(path, blob, num_bytes);
  if (!capacity) index->blob_.emplace(std::move(blob));
  return index;
}

void ExactIndex::search(const float* queries_QD, int64_t num_queries, int64_t begin, int64_t end,
                        const SearchOptions& options, TopK* best_Q) const {
  scan_rows(rows_, dots_, queries_QD, num_queries, begin, end, options, best_Q);
}

void ExactIndex::save(const std::string& path) const {
  BlobWriter file(path, kKind);
  rows_.write(file, count());
  write_removed(file);
  file.finish(numbers_of(*this));
}

}  // namespace seekrl::search
