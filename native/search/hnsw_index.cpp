// The graph is usearch's, over vectors in our own stored form; our file wraps its bytes.
#include "search/hnsw_index.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <usearch/index_dense.hpp>
#include <utility>
#include <vector>

#include "base/error.h"

namespace seekrl::search {

namespace {

namespace us = unum::usearch;

us::scalar_kind_t kind_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::kF32: return us::scalar_kind_t::f32_k;
    case Scalar::kBf16: return us::scalar_kind_t::bf16_k;
    case Scalar::kI8: return us::scalar_kind_t::i8_k;
  }
  return us::scalar_kind_t::unknown_k;
}

// Vectors of length one need no division by their lengths; i8 vectors have lost theirs to rounding.
us::metric_punned_t metric_of(const VectorFormat& format) {
  const bool has_lengths = format.scalar == Scalar::kI8;
  return us::metric_punned_t(static_cast<size_t>(format.dim),
                             has_lengths ? us::metric_kind_t::cos_k : us::metric_kind_t::ip_k, kind_of(format.scalar));
}

// usearch's error objects throw when they die unread.
template <class Result>
void check(Result& result, ErrorCode code, const std::string& what) {
  if (!result) fail(code, what, ": ", result.error.release());
}

// Calls `use` with the stored bytes typed as usearch wants them.
template <class Use>
auto with_stored(Scalar scalar, const std::byte* stored, Use use) {
  switch (scalar) {
    case Scalar::kF32: return use(reinterpret_cast<const us::f32_t*>(stored));
    case Scalar::kBf16: return use(reinterpret_cast<const us::bf16_t*>(stored));
    case Scalar::kI8: break;
  }
  return use(reinterpret_cast<const us::i8_t*>(stored));
}

}  // namespace

struct HnswIndex::Graph {
  us::index_dense_t index;
  std::optional<Blob> blob;  // what a viewed index points into
};

HnswIndex::HnswIndex(VectorFormat format, int64_t capacity, const HnswOptions& options, int num_threads)
    : format_(format), capacity_(capacity), options_(options), graph_(std::make_unique<Graph>()) {
  check_format(format);
  us::index_dense_config_t config(static_cast<size_t>(options.connectivity), static_cast<size_t>(options.expansion_add),
                                  static_cast<size_t>(options.expansion_search));
  config.enable_key_lookups = false;
  const us::index_limits_t limits(static_cast<size_t>(capacity), static_cast<size_t>(num_threads));
  auto made = us::index_dense_t::make(metric_of(format), config, us::default_free_value<us::default_key_t>(), limits);
  check(made, ErrorCode::kMemory, "vector index");
  graph_->index = std::move(made.index);
}

HnswIndex::~HnswIndex() = default;

std::unique_ptr<HnswIndex> HnswIndex::open(const std::string& path, Verify verify, int num_threads) {
  Blob blob(path, kKind, verify);
  const BlobNumbers& numbers = blob.numbers();
  HnswOptions options;
  options.connectivity = numbers[4];
  options.expansion_search = numbers[5];
  auto index = std::make_unique<HnswIndex>(format_from(numbers), 0, options, num_threads);
  auto& graph = *index->graph_;
  auto* bytes = reinterpret_cast<us::byte_t*>(const_cast<std::byte*>(blob.payload()));
  auto viewed = graph.index.view(us::memory_mapped_file_t(bytes, blob.payload_bytes()));
  check(viewed, ErrorCode::kFormat, path);
  require(index->count() == numbers[0] && graph.index.dimensions() == static_cast<size_t>(numbers[1]) &&
              graph.index.scalar_kind() == kind_of(index->format_.scalar),
          ErrorCode::kFormat, path, ": the header and the graph do not agree");
  index->capacity_ = numbers[0];
  graph.blob.emplace(std::move(blob));
  return index;
}

bool HnswIndex::is_mapped() const { return graph_->blob.has_value(); }

int64_t HnswIndex::count() const { return static_cast<int64_t>(graph_->index.size()); }

void HnswIndex::add(int64_t first, const float* vectors_ND, int64_t num_vectors) {
  std::vector<std::byte> stored(format_.bytes());
  for (int64_t i = 0; i < num_vectors; ++i) {
    encode_vector(format_, vectors_ND + i * format_.dim, stored.data());
    const auto key = static_cast<us::default_key_t>(first + i);
    auto added =
        with_stored(format_.scalar, stored.data(), [&](auto* vector) { return graph_->index.add(key, vector); });
    check(added, ErrorCode::kMemory, "vector index");
  }
}

void HnswIndex::search(const float* queries_QD, int64_t num_queries, int64_t top_k, int32_t* ids_QK,
                       float* scores_QK) const {
  std::fill_n(ids_QK, num_queries * top_k, -1);
  std::fill_n(scores_QK, num_queries * top_k, 0.0f);
  if (count() == 0) return;
  std::vector<std::byte> stored(format_.bytes());
  for (int64_t q = 0; q < num_queries; ++q) {
    encode_vector(format_, queries_QD + q * format_.dim, stored.data());
    auto found = with_stored(format_.scalar, stored.data(),
                             [&](auto* query) { return graph_->index.search(query, static_cast<size_t>(top_k)); });
    check(found, ErrorCode::kMemory, "vector index");
    for (size_t rank = 0; rank < found.size(); ++rank) {
      const int64_t at = q * top_k + static_cast<int64_t>(rank);
      ids_QK[at] = static_cast<int32_t>(static_cast<us::default_key_t>(found[rank].member.key));
      scores_QK[at] = 1 - found[rank].distance;
    }
  }
}

void HnswIndex::save(const std::string& path) const {
  BlobWriter file(path, kKind);
  std::exception_ptr error;  // usearch is noexcept here: an exception must wait outside
  const auto write = [&](const void* data, size_t num_bytes) {
    try {
      file.write(data, num_bytes);
    } catch (...) {
      error = std::current_exception();
    }
    return error == nullptr;
  };
  auto saved = graph_->index.save_to_stream(write);
  if (error != nullptr) saved.error.release(), std::rethrow_exception(error);
  check(saved, ErrorCode::kIo, path);
  BlobNumbers numbers = numbers_of(*this);
  numbers[4] = options_.connectivity;
  numbers[5] = options_.expansion_search;
  file.finish(numbers);
}

}  // namespace seekrl::search
