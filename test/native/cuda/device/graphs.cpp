// Graphs of the emulated GPU: recordings, which fail where SEEKRL_EMULATED_GRAPH_FAULT says.
#include "graphs/graphs.h"

#include <c10/util/Exception.h>
#include <torch/version.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "device/graphs.h"

namespace seekrl::emulator {

namespace {

struct Pool {
  std::shared_ptr<KeptMemory> memory = std::make_shared<KeptMemory>();
  int64_t num_uses = 0;
};

std::mutex mutex;
std::map<uint64_t, Pool> pools;
// The one between its begin and its end.
Pool* open_pool = nullptr;
void* open_stream = nullptr;
std::atomic<bool> is_capturing = false;

void begin_pool(int8_t, uint64_t pool, void* stream) {
  const std::lock_guard lock(mutex);
  TORCH_CHECK(open_pool == nullptr, "emulated: a pool is begun within another");
  open_pool = &pools[pool];
  ++open_pool->num_uses;
  open_stream = stream;
}

void end_pool(int8_t, uint64_t) {
  const std::lock_guard lock(mutex);
  open_pool = nullptr;
  open_stream = nullptr;
}

void release_pool(int8_t, uint64_t pool) {
  const std::lock_guard lock(mutex);
  const auto found = pools.find(pool);
  if (--found->second.num_uses > 0) return;
  pools.erase(found);
}

void begin_capture(int8_t, void* stream) {
  TORCH_CHECK(stream != nullptr, "emulated: graphs are not captured on the default stream");
  TORCH_CHECK(!is_planted(kGraphFault, "begin"), "emulated: no capture begins");
  auto recording = std::make_shared<Recording>();
  {
    const std::lock_guard lock(mutex);
    TORCH_CHECK(open_pool != nullptr, "emulated: a graph has no pool");
    recording->memory = open_pool->memory;
  }
  begin_recording(recording);
  is_capturing = true;
}

void* end_capture(int8_t, void*) {
  is_capturing = false;
  auto recording = end_recording();
  TORCH_CHECK(!recording->is_invalid && !is_planted(kGraphFault, "end"), "emulated: the capture is invalid");
  return new std::shared_ptr<Recording>(std::move(recording));
}

std::shared_ptr<Recording>& recording_of(void* graph) { return *static_cast<std::shared_ptr<Recording>*>(graph); }

// Works hold the recording, whose memory they use.
void replay(void* graph, void*) {
  if (is_planted(kGraphFault, "replay"))
    throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 700, "emulated: it has failed");
  const std::shared_ptr<Recording>& recording = recording_of(graph);
  for (size_t i = 0; i < recording->works.size(); ++i) submit([held = recording, i] { held->works[i](); });
}

void destroy(void* graph) { delete &recording_of(graph); }

}  // namespace

KeptMemory* pool_of(void* stream) {
  const std::lock_guard lock(mutex);
  TORCH_CHECK(open_pool == nullptr || is_capturing, "emulated: a graph's pool was left open");
  return open_pool != nullptr && stream == open_stream ? open_pool->memory.get() : nullptr;
}

}  // namespace seekrl::emulator

extern "C" const seekrl::graphs::Library* seekrl_graphs() {
  using namespace seekrl::emulator;
  static const seekrl::graphs::Library library = {sizeof(seekrl::graphs::Library),
                                                  TORCH_VERSION,
                                                  &begin_pool,
                                                  &end_pool,
                                                  &release_pool,
                                                  &begin_capture,
                                                  &end_capture,
                                                  &replay,
                                                  &destroy};
  return is_planted(kGraphFault, "library") ? nullptr : &library;
}
