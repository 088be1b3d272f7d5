// By libtorch's graphs, which keep the memory of what is captured; a libtorch without them launches each kernel anew.
#include "engine/decode/decode_graphs.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <bit>

#include "engine/attention/gpu_attention.h"
#include "ops/gpu/gpu.h"

#if __has_include(<ATen/core/GraphImplInterface.h>)
#include <ATen/core/GraphImplInterface.h>
#define SEEKRL_HAS_GRAPHS 1
#else
namespace at {
struct GraphImplInterface {
  virtual ~GraphImplInterface() = default;
  virtual void replay() = 0;
};
}  // namespace at
#endif

namespace seekrl::engine {

namespace {

#ifdef SEEKRL_HAS_GRAPHS
// Of one that has failed: what it says of that is not what went wrong.
void end_capture(at::GraphImplInterface& graph) {
  try {
    graph.capture_end();
  } catch (...) {
  }
}
#endif

}  // namespace

// What one shape has launched.
struct DecodeGraphs::Step {
  GpuAttention attention;
  model::AdapterRows adapters;                    // of its last run
  std::unique_ptr<at::GraphImplInterface> graph;  // null until it is captured
  bool has_run = false;                           // a launch made what later ones share, and captures must not make
  bool fits_graph = true;  // false once its capture ran out of memory, of which a graph keeps its own
};

DecodeGraphs::DecodeGraphs(const model::Decoder& decoder, const BlockPool& pool, const DecodeState& state)
    : decoder_(decoder), pool_(pool), state_(state) {}

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

// On a stream of its own: the default one is not captured. What is under way is waited for first. A shape whose graph
// finds no memory is launched kernel by kernel from then on; after any other refusal of libtorch no shape is captured.
void DecodeGraphs::capture([[maybe_unused]] Step& step, [[maybe_unused]] Shape shape) {
#ifdef SEEKRL_HAS_GRAPHS
  const at::Device device = decoder_.device();
  if (!can_capture_ || !at::has_graph_impl(device.type()) || !decoder_.is_capturable(step.adapters)) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeDevice(device.has_index() ? device.index() : 0);
  const c10::StreamGuard stream(guard.getStreamFromGlobalPool(device));
  const auto captured =
      std::find_if(steps_.begin(), steps_.end(), [](const auto& each) { return each.second->graph != nullptr; });
  const c10::MempoolId_t pool = captured == steps_.end() ? c10::MempoolId_t{0, 0} : captured->second->graph->pool();
  auto graph = at::create_graph_impl(device.type());
  try {
    graph->capture_begin(pool, at::GraphCaptureMode::ThreadLocal);
    launch(step, shape);
    graph->capture_end();
    step.graph = std::move(graph);
  } catch (const c10::OutOfMemoryError&) {
    end_capture(*graph);
    step.fits_graph = false;
  } catch (...) {
    end_capture(*graph);
    can_capture_ = false;
  }
#endif
}

}  // namespace seekrl::engine
