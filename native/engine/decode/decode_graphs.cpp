// Each shape is launched once before it is captured: what later launches share is made then.
#include "engine/decode/decode_graphs.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <exception>

#include "engine/attention/gpu_attention.h"
#include "ops/gpu/gpu.h"

namespace seekrl::engine {

// What one shape has launched.
struct DecodeGraphs::Step {
  GpuAttention attention;
  model::AdapterRows adapters;   // of its last run
  std::unique_ptr<Graph> graph;  // null until it is captured
  bool has_run = false;          // a launch made what later ones share, and captures must not make
  bool fits_graph = true;        // false once its capture ran out of memory, of which a graph keeps its own
};

DecodeGraphs::DecodeGraphs(const model::Decoder& decoder, const BlockPool& pool, const DecodeState& state)
    : decoder_(decoder),
      pool_(pool),
      state_(state),
      maker_(graph_maker(decoder.device().type())),
      graph_pool_(new_graph_pool()) {}

DecodeGraphs::~DecodeGraphs() = default;

void DecodeGraphs::clear() {
  steps_.clear();
  scratch_.reset();
}

void DecodeGraphs::make_scratch(Shape shape) {
  const auto [num_rows, max_keys, shares_keys] = shape;
  const model::DecoderConfig& config = decoder_.config();
  const int64_t size = ops::gpu().paged_attention_scratch_floats(num_rows, config.num_heads, config.head_dim, max_keys);
  if (scratch_.defined() && scratch_.numel() >= size) return;
  clear();
  scratch_ = at::empty({size}, at::device(decoder_.device()).dtype(at::kFloat));
}

// Few enough that most batches find theirs captured, near enough that few rows run for nothing.
int64_t DecodeGraphs::bucket_of(int64_t num_rows) {
  if (num_rows <= 8) return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(num_rows)));
  const int64_t step = num_rows <= 64 ? 8 : 16;
  return (num_rows + step - 1) / step * step;
}

// Splits that a row has no keys for cost a look each: no more than it has, twice.
int64_t DecodeGraphs::keys_bucket(int64_t max_keys) const {
  const auto wide = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(max_keys)));
  return std::min(std::max<int64_t>(wide, cuda::kSplitTokens), state_.table_stride() * pool_.block_tokens());
}

void DecodeGraphs::run(int64_t num_rows, int64_t max_keys, bool shares_keys, const model::AdapterRows& adapters) {
  const Shape shape = {std::min(bucket_of(num_rows), state_.max_rows()), keys_bucket(max_keys), shares_keys};
  make_scratch(shape);
  std::unique_ptr<Step>& step = steps_[shape];
  if (step == nullptr) step = std::make_unique<Step>(GpuAttention(decoder_.config(), pool_));
  if (step->adapters != adapters) {
    step->graph.reset();
    step->adapters = adapters;
    step->has_run = false;
  }
  step->adapters.refresh();
  if (step->graph == nullptr && step->has_run && step->fits_graph) capture(*step, shape);
  if (step->graph == nullptr) return launch(*step, shape);
  step->graph->replay();
  ++num_replays_;
}

void DecodeGraphs::launch(Step& step, Shape shape) const {
  const auto [num_rows, max_keys, shares_keys] = shape;
  step.attention.prepare({.slots_T = state_.slots(),
                          .tiles = state_.tiles(),
                          .block_table = state_.block_table(),
                          .num_tiles = num_rows,
                          .table_stride = state_.table_stride(),
                          .max_keys = max_keys,
                          .scratch = scratch_.mutable_data_ptr<float>(),
                          .shared_tiles = state_.shared_tiles(),
                          .shared_keys_S = shares_keys ? state_.shared_keys() : nullptr,
                          .num_shared_tiles = shares_keys ? num_rows : 0});
  const at::Tensor hidden_SD =
      decoder_.forward(state_.ids(num_rows), state_.positions(num_rows), step.attention, {}, step.adapters);
  const at::Tensor logits_SV = decoder_.logits(hidden_SD);
  void* const stream = ops::stream_of(hidden_SD);
  ops::require_launched(ops::gpu().sample(state_.sample_call(logits_SV, decoder_.config().logit_softcap), stream));
  ops::require_launched(ops::gpu().next_step(state_.next_step(num_rows), stream));
  step.has_run = true;
}

// A shape whose graph finds no memory is launched kernel by kernel from then on; after any other failure no shape is
// captured.
void DecodeGraphs::capture(Step& step, Shape shape) {
  if (!maker_.refusal.empty() || !decoder_.is_capturable(step.adapters)) return;
  try {
    step.graph = Graph::captured(*maker_.library, decoder_.device(), graph_pool_, [&] { launch(step, shape); });
  } catch (const c10::OutOfMemoryError&) {
    step.fits_graph = false;
  } catch (const c10::Error& error) {
    maker_.refusal = error.what_without_backtrace();
  } catch (const std::exception& error) {
    maker_.refusal = error.what();
  }
}

}  // namespace seekrl::engine
