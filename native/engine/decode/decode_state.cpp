// Rows go there as one copy of a few KB from pinned memory; blocks and ends as edits.
#include "engine/decode/decode_state.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>

#include "engine/sampling/gpu_sampler.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/transfer.h"

namespace seekrl::engine {

namespace {

constexpr int64_t kSampleWords = sizeof(cuda::SampleRow) / sizeof(int32_t);
static_assert(sizeof(cuda::SampleRow) % 8 == 0);

}  // namespace

// An even number of words lies before the rows of sampling, which hold pointers.
DecodeState::DecodeState(int64_t max_rows, int64_t table_stride, int64_t block_tokens, at::Device device)
    : max_rows_((max_rows + 1) / 2 * 2),
      table_stride_(table_stride),
      block_tokens_(block_tokens),
      sampling_(kNumLists * max_rows_),
      table_(sampling_ + kSampleWords * max_rows_),
      words_(at::empty({table_ + max_rows_ * table_stride}, at::device(device).dtype(at::kInt))),
      drawn_(
          at::empty({max_rows_, static_cast<int64_t>(sizeof(cuda::DrawnToken))}, at::device(device).dtype(at::kByte))),
      top_(at::empty({max_rows_, kTopBytes}, drawn_.options())),
      known_blocks_(static_cast<size_t>(max_rows_ * table_stride), 0) {
  words_.zero_();
}

void DecodeState::set_rows(const std::vector<DecodeRow>& rows, const SharedPrefixes& shared) {
  send_edits();  // of rows that were
  std::vector<int32_t> words(static_cast<size_t>(table_), 0);
  const auto list = [&](List each) { return words.data() + place(each); };
  auto* const tiles = reinterpret_cast<cuda::AttentionTile*>(list(kTiles));
  for (int64_t r = 0; r < max_rows_; ++r) {
    const auto row = static_cast<int32_t>(r);
    list(kSlots)[r] = -1;
    tiles[r] = {row, row, 1, 1};
    if (r >= std::ssize(rows)) continue;
    const DecodeRow& from = rows[r];
    list(kIds)[r] = from.id;
    list(kPositions)[r] = from.num_tokens - 1;
    list(kNumTokens)[r] = from.num_tokens;
    list(kSlots)[r] = from.slot;
    list(kLimits)[r] = from.limit;
    tiles[r].num_keys = from.num_tokens;
    std::memcpy(words.data() + sampling_ + r * kSampleWords, &from.sampling, sizeof(cuda::SampleRow));
  }
  std::copy(shared.keys_S.begin(), shared.keys_S.end(), list(kSharedKeys));
  std::copy(shared.tiles.begin(), shared.tiles.end(), reinterpret_cast<cuda::AttentionTile*>(list(kSharedTiles)));
  ops::send(words_.narrow(0, 0, table_), words.data());
}

void DecodeState::set_block(int64_t row, int64_t i, int32_t block) {
  int32_t& known = known_blocks_[row * table_stride_ + i];
  if (known == block) return;
  known = block;
  edit(table_ + row * table_stride_ + i, block);
}

void DecodeState::end_row(int64_t row) {
  edit(place(kSlots) + row, -1);
  edit(place(kTiles) + 4 * row + 3, 1);
}

void DecodeState::edit(int64_t place, int32_t value) { edits_.push_back({static_cast<int32_t>(place), value}); }

void DecodeState::send_edits() {
  if (edits_.empty()) return;
  const at::Tensor there = at::empty({2 * std::ssize(edits_)}, words_.options());
  ops::send(there, edits_.data());
  const auto* const edits = reinterpret_cast<const cuda::WordEdit*>(there.const_data_ptr<int32_t>());
  ops::require_launched(ops::gpu().edit_words(at(0), edits, std::ssize(edits_), ops::stream_of(words_)));
  edits_.clear();
}

const cuda::AttentionTile* DecodeState::tiles() const {
  return reinterpret_cast<const cuda::AttentionTile*>(at(place(kTiles)));
}

const cuda::AttentionTile* DecodeState::shared_tiles() const {
  return reinterpret_cast<const cuda::AttentionTile*>(at(place(kSharedTiles)));
}

cuda::SampleCall DecodeState::sample_call(const at::Tensor& logits_RV, double softcap) const {
  return {.drawn_R = reinterpret_cast<cuda::DrawnToken*>(drawn_.mutable_data_ptr()),
          .logits_RV = logits_RV.const_data_ptr<float>(),
          .rows_R = reinterpret_cast<const cuda::SampleRow*>(at(sampling_)),
          .num_tokens_R = at(place(kNumTokens)),
          .num_rows = logits_RV.size(0),
          .vocab_size = logits_RV.size(1),
          .softcap = static_cast<float>(softcap),
          .top_RK = reinterpret_cast<kernels::TopToken*>(top_.mutable_data_ptr())};
}

cuda::NextStep DecodeState::next_step(int64_t num_rows) const {
  return {.ids_S = at(place(kIds)),
          .positions_S = at(place(kPositions)),
          .num_tokens_S = at(place(kNumTokens)),
          .slots_S = at(place(kSlots)),
          .tiles_S = reinterpret_cast<cuda::AttentionTile*>(at(place(kTiles))),
          .drawn_S = reinterpret_cast<const cuda::DrawnToken*>(drawn_.const_data_ptr()),
          .block_table = at(table_),
          .limits_S = at(place(kLimits)),
          .num_rows = num_rows,
          .table_stride = table_stride_,
          .block_tokens = block_tokens_};
}

}  // namespace seekrl::engine
