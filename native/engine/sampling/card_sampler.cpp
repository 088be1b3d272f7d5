// One copy there with all rows' options, edits and masks, and one home.
#include "engine/sampling/card_sampler.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "engine/sampling/row_edits.h"
#include "ops/card/card.h"
#include "ops/card/transfer.h"

namespace seekrl::engine {

namespace {

// Bytes for the card, and where they will lie there.
class Parcel {
 public:
  // The place of `count` values; every part begins at a multiple of 16 bytes.
  template <class Value>
  size_t add(const Value* values, size_t count) {
    const size_t at = bytes_.size();
    bytes_.resize((at + count * sizeof(Value) + 15) / 16 * 16);
    if (count > 0) std::memcpy(bytes_.data() + at, values, count * sizeof(Value));
    return at;
  }
  template <class Value>
  Value* at(size_t place) {
    return reinterpret_cast<Value*>(bytes_.data() + place);
  }
  size_t size() const { return bytes_.size(); }
  void send(const at::Tensor& to) const { ops::send(to, bytes_.data()); }

 private:
  std::vector<std::byte> bytes_;
};

// A row whose pointers are places in the parcel until it is known where that lies.
struct Packed {
  size_t edits = 0, mask = 0;
  bool has_mask = false;
};

Packed pack(Parcel& parcel, cuda::SampleRow& row, const SampleRequest& request, int64_t vocab_size) {
  const std::vector<cuda::LogitEdit> edits = edits_of(request);
  row.num_edits = static_cast<int32_t>(edits.size());
  Packed packed = {parcel.add(edits.data(), edits.size())};
  packed.has_mask = request.mask != nullptr;
  if (packed.has_mask) packed.mask = parcel.add(request.mask, static_cast<size_t>((vocab_size + 31) / 32));
  return packed;
}

}  // namespace

cuda::SampleRow sample_row(const SamplingOptions& options, uint64_t seed, bool wants_entropy) {
  return {.seed = seed,
          .mask = nullptr,
          .edits = nullptr,
          .num_edits = 0,
          .top_k = static_cast<int32_t>(std::min<int64_t>(options.top_k, std::numeric_limits<int32_t>::max())),
          .temperature = options.temperature,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .repetition = static_cast<float>(options.repetition_penalty),
          .frequency = static_cast<float>(options.frequency_penalty),
          .presence = static_cast<float>(options.presence_penalty),
          .wants_entropy = wants_entropy ? 1 : 0};
}

std::vector<Sample> sample_on_card(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests,
                                   double softcap) {
  const int64_t vocab_size = logits_RV.size(1), num_rows = std::ssize(requests);
  const at::Tensor logits = logits_RV.contiguous();
  Parcel parcel;
  std::vector<cuda::SampleRow> rows;
  std::vector<int32_t> num_tokens;
  std::vector<Packed> packed;
  for (const SampleRequest& request : requests) {
    rows.push_back(sample_row(*request.options, request.seed, request.wants_entropy));
    num_tokens.push_back(static_cast<int32_t>(request.tokens.size()));
    packed.push_back(pack(parcel, rows.back(), request, vocab_size));
  }
  const size_t num_tokens_at = parcel.add(num_tokens.data(), num_tokens.size());
  const size_t rows_at = parcel.add(rows.data(), rows.size());
  const auto bytes = logits.options().dtype(at::kByte);
  const at::Tensor there = at::empty({static_cast<int64_t>(parcel.size())}, bytes);
  auto* const base = static_cast<std::byte*>(there.mutable_data_ptr());
  for (int64_t r = 0; r < num_rows; ++r) {
    cuda::SampleRow& row = parcel.at<cuda::SampleRow>(rows_at)[r];
    row.edits = reinterpret_cast<const cuda::LogitEdit*>(base + packed[r].edits);
    if (packed[r].has_mask) row.mask = reinterpret_cast<const uint32_t*>(base + packed[r].mask);
  }
  parcel.send(there);
  const at::Tensor drawn = at::empty({num_rows, static_cast<int64_t>(sizeof(cuda::DrawnToken))}, bytes);
  const cuda::SampleCall call = {.drawn_R = reinterpret_cast<cuda::DrawnToken*>(drawn.mutable_data_ptr()),
                                 .logits_RV = logits.const_data_ptr<float>(),
                                 .rows_R = reinterpret_cast<const cuda::SampleRow*>(base + rows_at),
                                 .num_tokens_R = reinterpret_cast<const int32_t*>(base + num_tokens_at),
                                 .num_rows = num_rows,
                                 .vocab_size = vocab_size,
                                 .softcap = static_cast<float>(softcap)};
  ops::check(ops::card().sample(call, ops::stream_of(logits)));
  const at::Tensor home = drawn.to(at::kCPU);
  const auto* const found = reinterpret_cast<const cuda::DrawnToken*>(home.const_data_ptr());
  std::vector<Sample> samples;
  for (int64_t r = 0; r < num_rows; ++r) samples.push_back({found[r].token, found[r].logprob, found[r].entropy});
  return samples;
}

}  // namespace seekrl::engine
