// The device's order of work keeps apart what the host does early: blocks that a sequence gives back are written to by
// others only in steps that are asked for later.
#include "engine/decode/flight.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <utility>

#include "engine/attention/gpu_attention.h"
#include "engine/sampling/gpu_sampler.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/transfer.h"

namespace seekrl::engine {

Flight::Flight(const model::Decoder& decoder, const BlockPool& pool, int64_t max_rows, int64_t max_tokens)
    : decoder_(decoder),
      pool_(pool),
      max_tokens_(max_tokens),
      state_(max_rows, pool.blocks_for(max_tokens), pool.block_tokens(), decoder.device()),
      graphs_(decoder, pool, state_) {}

bool Flight::can_carry(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    const auto& masks = row.sequence->span.options.masks;
    return row.num_tokens == 1 && row.num_samples == 1 && (masks == nullptr || masks->is_ready());
  });
}

void Flight::begin(const std::vector<Row>& rows, const std::vector<SampleRequest>& requests) {
  GpuRequests packed = pack_requests(requests, decoder_.config().vocab_size, decoder_.device());
  places_.clear();
  lists_top_ = any_lists_top(requests);
  adapters_ = {};
  max_keys_ = 0;
  num_live_ = std::ssize(rows);
  std::vector<DecodeRow> there;
  std::vector<BatchSequence> batch;
  for (size_t r = 0; r < rows.size(); ++r) {
    const Sequence& sequence = *rows[r].sequence;
    const Span& span = sequence.span;
    const int64_t num_tokens = sequence.num_tokens();
    const int64_t limit = std::min(num_tokens + span.options.max_tokens - span.num_tokens, max_tokens_);
    there.push_back({.id = static_cast<int32_t>(sequence.tokens.back()),
                     .num_tokens = static_cast<int32_t>(num_tokens),
                     .limit = static_cast<int32_t>(limit),
                     .slot = static_cast<int32_t>(pool_.slot(sequence.blocks, num_tokens - 1)),
                     .sampling = packed.rows[r]});
    places_.push_back({rows[r].sequence, limit});
    adapters_.add(sequence.adapter, 1);
    batch.push_back({sequence.blocks, num_tokens - 1, 1});
    max_keys_ = std::max(max_keys_, num_tokens);
  }
  edits_ = std::move(packed.edits);
  // Of one adapter there are as many rows as come: whichever batch of it is replayed by the same graph.
  const bool is_one = std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    return row.sequence->adapter == rows.front().sequence->adapter;
  });
  if (is_one) adapters_ = model::AdapterRows(rows.front().sequence->adapter);
  adapters_ = adapters_.on(decoder_.device(), decoder_.dtype(), state_.max_rows());
  const model::DecoderConfig& config = decoder_.config();
  const SharedPrefixes shared =
      shared_prefixes(batch, pool_.block_tokens(), tile_positions(config.num_heads, config.num_kv_heads));
  shares_keys_ = !shared.tiles.empty();
  state_.set_rows(there, shared);
}

bool Flight::may_go_on() const {
  return !edits_.defined() && std::any_of(places_.begin(), places_.end(), [this](const Place& place) {
    return place.sequence != nullptr && place.sequence->num_tokens() + num_under_way() < place.limit;
  });
}

void Flight::send_blocks() {
  for (size_t row = 0; row < places_.size(); ++row) {
    Place& place = places_[row];
    if (place.sequence == nullptr) continue;
    const std::vector<int32_t>& blocks = place.sequence->blocks;
    for (; place.num_blocks < std::ssize(blocks); ++place.num_blocks) {
      state_.set_block(static_cast<int64_t>(row), place.num_blocks, blocks[place.num_blocks]);
    }
  }
  state_.send_edits();
}

void Flight::launch() {
  send_blocks();
  graphs_.run(std::ssize(places_), std::min(max_keys_, max_tokens_), shares_keys_, adapters_);
  ++max_keys_;
  const at::Tensor& drawn = state_.drawn();
  PendingDraws pending = {ops::pinned_bytes(drawn.numel(), drawn.device()), {}, c10::Event(drawn.device().type())};
  pending.drawn.copy_(drawn.view({-1}), /*non_blocking=*/true);
  if (lists_top_) {
    const at::Tensor top = state_.top().narrow(0, 0, std::ssize(places_)).view({-1});
    pending.top = ops::pinned_bytes(top.numel(), top.device());
    pending.top.copy_(top, /*non_blocking=*/true);
  }
  pending.is_on_host.record(c10::impl::VirtualGuardImpl(drawn.device().type()).getStream(drawn.device()));
  pending_.push_back(std::move(pending));
}

std::vector<Flight::Draw> Flight::collect() {
  const PendingDraws pending = std::move(pending_.front());
  pending_.pop_front();
  pending.is_on_host.synchronize();
  const auto* const drawn = reinterpret_cast<const cuda::DrawnToken*>(pending.drawn.const_data_ptr());
  std::vector<Draw> draws;
  for (size_t row = 0; row < places_.size(); ++row) {
    const auto& [token, logprob, entropy] = drawn[row];
    Sequence* const sequence = places_[row].sequence;
    if (sequence == nullptr) continue;
    draws.push_back({sequence, {token, logprob, entropy}});
    const int64_t num_top = sequence->span.options.num_top;
    if (num_top > 0) draws.back().sample.top = top_of(pending.top, static_cast<int64_t>(row), num_top);
  }
  return draws;
}

void Flight::leave(const Sequence& sequence) {
  for (size_t row = 0; row < places_.size(); ++row) {
    if (places_[row].sequence != &sequence) continue;
    places_[row].sequence = nullptr;
    state_.end_row(static_cast<int64_t>(row));
    if (--num_live_ == 0) end();
    return;
  }
}

void Flight::release() {
  end();
  graphs_.clear();
}

void Flight::end() {
  places_.clear();
  pending_.clear();
  num_live_ = 0;
}

}  // namespace seekrl::engine
