// Whoever finishes the last range of a tile merges them, which gives the same result in any order of work.
#include "search/vectors/vector_search.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "search/vectors/exact_index.h"

namespace seekrl::search {

namespace {

// Below this many rows a range is not worth a thread.
constexpr int64_t kMinRangeRows = 4096;
// Queries that share one pass over divided rows: at most about half of a second-level cache.
constexpr int64_t kPassQueries = 256;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

VectorSearch::VectorSearch(std::shared_ptr<const VectorIndex> index, std::shared_ptr<const VectorIndex> rescore,
                           std::vector<float> queries_QD, VectorRequest request, int num_threads)
    : index_(std::move(index)),
      rescore_(std::move(rescore)),
      removed_(index_->removed()),
      queries_QD_(std::move(queries_QD)),
      request_(std::move(request)),
      rescore_dots_(rescore_ == nullptr ? nullptr : dots_of(rescore_->format().scalar)) {
  num_queries_ = static_cast<int64_t>(queries_QD_.size()) / index_->format().dim;
  num_rows_ = index_->count();
  if (request_.excluded && removed_ != nullptr) request_.excluded->insert(*removed_);
  options_ = {num_candidates(), request_.expansion, request_.excluded ? &*request_.excluded : removed_.get()};
  const bool is_divisible = request_.is_exact || index_->is_divisible();
  const int64_t most = is_divisible ? kPassQueries : index_->queries_per_task();
  // Several tasks a thread: one that was interrupted does not hold up the rest. Where rows can be divided they are, and
  // queries share passes over them.
  const int64_t num_tasks = 4 * num_threads;
  tile_queries_ = std::clamp<int64_t>(is_divisible ? num_queries_ : ceil_div(num_queries_, num_tasks), 1, most);
  num_tiles_ = ceil_div(num_queries_, tile_queries_);
  const int64_t num_wanted = is_divisible && num_tiles_ > 0 ? ceil_div(num_tasks, num_tiles_) : 1;
  num_ranges_ = std::clamp<int64_t>(num_wanted, 1, std::max<int64_t>(1, num_rows_ / kMinRangeRows));
  tiles_ = std::vector<Tile>(static_cast<size_t>(num_tiles_));
  for (Tile& tile : tiles_) tile.num_left = num_ranges_;
  ids_QK_.resize(static_cast<size_t>(num_queries_ * request_.top_k));
  scores_QK_.resize(ids_QK_.size());
}

// i8 and b1 order near candidates badly: more of them are scored again than are asked for.
int64_t VectorSearch::num_candidates() const {
  const int64_t factor = rescore_ == nullptr ? 1 : request_.over_fetch;
  return std::max<int64_t>(1, std::min(request_.top_k * factor, std::max(request_.top_k, num_rows_)));
}

void VectorSearch::run(int64_t task) {
  const int64_t tile_number = task / num_ranges_, range = task % num_ranges_;
  Tile& tile = tiles_[static_cast<size_t>(tile_number)];
  const int64_t first = tile_number * tile_queries_, num_asked = std::min(tile_queries_, num_queries_ - first);
  const int64_t begin = num_rows_ * range / num_ranges_, end = num_rows_ * (range + 1) / num_ranges_;
  std::vector<TopK> best(static_cast<size_t>(num_asked), TopK(options_.top_k));
  const float* queries = queries_QD_.data() + first * index_->format().dim;
  if (request_.is_exact)
    scan_rows(index_->rows(), queries, num_asked, begin, end, options_, best.data());
  else
    index_->search(queries, num_asked, begin, end, options_, best.data());
  {
    std::lock_guard lock(tile.mutex);
    if (tile.best_Q.empty())
      tile.best_Q = std::move(best);
    else
      for (size_t q = 0; q < best.size(); ++q) tile.best_Q[q].offer_all(best[q]);
    if (--tile.num_left > 0) return;
  }
  finish(tile_number);
}

void VectorSearch::finish(int64_t tile_number) {
  auto& best_Q = tiles_[static_cast<size_t>(tile_number)].best_Q;
  for (size_t i = 0; i < best_Q.size(); ++i) {
    const int64_t q = tile_number * tile_queries_ + static_cast<int64_t>(i), at = q * request_.top_k;
    if (rescore_ != nullptr) score_again(queries_QD_.data() + q * index_->format().dim, best_Q[i]);
    best_Q[i].take(ids_QK_.data() + at, scores_QK_.data() + at);
  }
  best_Q = {};
}

// Leaves the best `top_k` of the candidates by the scores of the finer rows.
void VectorSearch::score_again(const float* query_D, TopK& best) const {
  const VectorRows& rows = rescore_->rows();
  const StoredQuery query(rows.format(), query_D);
  std::vector<const std::byte*> pointers;
  for (const Scored& each : best.found()) pointers.push_back(rows.at(each.id));
  std::vector<float> products(pointers.size());
  const std::byte* asked = query.data();
  rescore_dots_(pointers.data(), static_cast<int64_t>(pointers.size()), &asked, 1, rows.format().dim, products.data());
  TopK again(request_.top_k);
  for (size_t i = 0; i < products.size(); ++i) {
    const int32_t id = best.found()[i].id;
    again.offer({products[i] * rows.scale(id) * query.scale, id});
  }
  best = std::move(again);
}

}  // namespace seekrl::search
