// What was begun is ended in the opposite order, whatever fails on the way.
#include "engine/decode/graph.h"

#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <atomic>
#include <cstring>

#include "ops/gpu/gpu.h"

namespace seekrl::engine {

namespace {

std::string file_of(c10::DeviceType type) {
  return type == c10::DeviceType::PrivateUse1 ? "libseekrl_emulated.so" : "libseekrl_graphs.so";
}

// Of one whose work has failed: what it says of that is not what went wrong.
void drop_capture(const graphs::Library& library, c10::Device device, void* stream) {
  try {
    library.destroy(library.end_capture(device.index(), stream));
  } catch (const c10::Error&) {
  }
}

}  // namespace

GraphMaker graph_maker(c10::DeviceType type) {
  const std::string path = ops::beside_addon(file_of(type));
  void* const file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays open, however often it is opened
  if (file == nullptr) return {nullptr, dlerror()};
  const auto find = reinterpret_cast<decltype(&seekrl_graphs)>(dlsym(file, SEEKRL_GRAPHS_SYMBOL));
  const graphs::Library* const library = find == nullptr ? nullptr : find();
  if (library == nullptr || library->size != sizeof(graphs::Library)) return {nullptr, path + " is of another version"};
  if (std::strcmp(library->torch, TORCH_VERSION) != 0) {
    return {nullptr, path + " is for torch " + library->torch + ", the addon for " + TORCH_VERSION};
  }
  return {library, ""};
}

uint64_t new_graph_pool() {
  static std::atomic<uint64_t> next{0};
  return next++;
}

std::unique_ptr<Graph> Graph::captured(const graphs::Library& library, c10::Device device, uint64_t pool,
                                       const std::function<void()>& work) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  if (!device.has_index()) device = guard.getDevice();
  const c10::DeviceIndex index = device.index();
  guard.synchronizeDevice(index);
  const c10::StreamGuard current(guard.getStreamFromGlobalPool(device));
  void* const stream = ops::stream_of(device);
  library.begin_pool(index, pool, stream);
  std::unique_ptr<Graph> graph(new Graph(library, device, pool));  // releases the pool
  const auto end_pool = c10::make_scope_exit([&] { library.end_pool(index, pool); });
  library.begin_capture(index, stream);
  try {
    work();
  } catch (...) {
    drop_capture(library, device, stream);
    throw;
  }
  graph->graph_ = library.end_capture(index, stream);
  return graph;
}

Graph::~Graph() {
  if (graph_ != nullptr) library_.destroy(graph_);
  library_.release_pool(device_.index(), pool_);
}

void Graph::replay() const { library_.replay(graph_, ops::stream_of(device_)); }

}  // namespace seekrl::engine
