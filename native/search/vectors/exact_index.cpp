// All queries against block after block of rows; a threshold keeps the best.
#include "search/vectors/exact_index.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "search/vectors/dots/row_block.h"

namespace seekrl::search {

namespace {

// Whether a query's list takes any of a block's rows; almost none does, and this is the loop that says so.
bool takes_any(const float* products_R, const float* scales_R, float query_scale, float threshold, int64_t num_rows) {
  int is_any = 0;
  for (int64_t r = 0; r < num_rows; ++r) is_any |= products_R[r] * scales_R[r] * query_scale >= threshold;
  return is_any != 0;
}

// The rows of one block, and what they are multiplied with.
struct Block {
  int64_t first, count;
  std::array<float, RowBlock::kRows> scales;

  Block(const VectorRows& rows, int64_t first, int64_t count) : first(first), count(count), scales{} {
    for (int64_t r = 0; r < count; ++r) scales[static_cast<size_t>(r)] = rows.scale(first + r);
  }
};

// Offers a block's rows to one query.
void offer_rows(const float* products_R, const Block& block, float query_scale, const SearchOptions& options,
                TopK& best) {
  if (!takes_any(products_R, block.scales.data(), query_scale, best.threshold(), block.count)) return;
  for (int64_t r = 0; r < block.count; ++r) {
    const float score = products_R[r] * block.scales[static_cast<size_t>(r)] * query_scale;
    if (!(score >= best.threshold())) continue;
    if (options.excluded != nullptr && options.excluded->has(block.first + r)) continue;
    best.offer({score, static_cast<int32_t>(block.first + r)});
  }
}

}  // namespace

void scan_rows(const VectorRows& rows, const float* queries_QD, int64_t num_queries, int64_t begin, int64_t end,
               const SearchOptions& options, TopK* best_Q) {
  std::vector<StoredQuery> stored;
  std::vector<const std::byte*> queries;
  for (int64_t q = 0; q < num_queries; ++q) stored.emplace_back(rows.format(), queries_QD + q * rows.format().dim);
  for (const StoredQuery& query : stored) queries.push_back(query.data());
  const std::unique_ptr<RowBlock> loaded = make_row_block(rows.format());
  std::vector<float> products_QR(static_cast<size_t>(num_queries * RowBlock::kRows));
  for (int64_t first = begin; first < end; first += RowBlock::kRows) {
    const Block block(rows, first, std::min(RowBlock::kRows, end - first));
    loaded->load(rows.at(first), block.count);
    loaded->multiply(queries.data(), num_queries, products_QR.data());
    for (int64_t q = 0; q < num_queries; ++q) {
      const float scale = stored[static_cast<size_t>(q)].scale;
      offer_rows(products_QR.data() + q * RowBlock::kRows, block, scale, options, best_Q[q]);
    }
  }
}

ExactIndex::ExactIndex(const VectorFormat& format, int64_t capacity)
    : ExactIndex((check_format(format), VectorRows(format, capacity)), 0, std::nullopt) {}

ExactIndex::ExactIndex(VectorRows rows, int64_t count, std::optional<Blob> blob)
    : VectorIndex(std::move(rows), count, std::move(blob)) {}

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
  scan_rows(rows_, queries_QD, num_queries, begin, end, options, best_Q);
}

void ExactIndex::save(const std::string& path) const {
  BlobWriter file(path, kKind);
  rows_.write(file, count());
  write_removed(file);
  file.finish(numbers_of(*this));
}

}  // namespace seekrl::search
