// What a GPU was asked for once, as one launch from then on.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "graphs/graphs.h"

namespace seekrl::engine {

// How graphs are made for a kind of GPU, by a library beside the addon's file.
struct GraphMaker {
  const graphs::Library* library;  // null where there is none
  std::string refusal;             // why not; empty where there is
};
GraphMaker graph_maker(c10::DeviceType type);

// A pool of graphs' memory that nobody else has. Graphs that run one after another share one.
uint64_t new_graph_pool();

class Graph {
 public:
  // Keeps what `work` asks of the current stream, and does none of it: another stream is current meanwhile, since the
  // default one is not captured, what is under way is waited for first, and memory is the pool's. `work` allocates on
  // the GPU at will, but neither reads anything back nor uses pinned memory. Where it throws, or the capture fails,
  // that is thrown, and the GPU and its allocator are as they were.
  static std::unique_ptr<Graph> captured(const graphs::Library& library, c10::Device device, uint64_t pool,
                                         const std::function<void()>& work);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // On the current stream.
  void replay() const;

 private:
  Graph(const graphs::Library& library, c10::Device device, uint64_t pool)
      : library_(library), device_(device), pool_(pool) {}

  const graphs::Library& library_;
  c10::Device device_;  // with its number
  uint64_t pool_;
  void* graph_ = nullptr;
};

}  // namespace seekrl::engine
