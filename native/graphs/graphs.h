// How what a GPU is asked for becomes one launch: every function in one table, for programs that open its library while
// they run.
//
// libtorch has graphs of its own for CUDA, but none that the addon can ask for: at::has_graph_impl knows no CUDA, and
// at::cuda::CUDAGraph lives in a library that is not there where the addon is linked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace seekrl::graphs {

// Of one kind of GPU. Streams are as libtorch has them natively. Where nothing else is said, what goes wrong is thrown:
// c10::OutOfMemoryError where memory is short, c10::AcceleratorError where the GPU fails, else c10::Error.
struct Library {
  size_t size;        // of this struct: another one is of another version
  const char* torch;  // the version of libtorch that it was compiled with, whose allocator it knows

  // Between these two, memory that is allocated on the stream is the pool's, which others get none of as long as the
  // pool lives: from its first begin until it was released as often as begun. The last two throw nothing.
  void (*begin_pool)(int8_t device, uint64_t pool, void* stream);
  void (*end_pool)(int8_t device, uint64_t pool);
  void (*release_pool)(int8_t device, uint64_t pool);

  // Between these two, what this thread asks of the stream is kept in place of being done. The capture has ended where
  // the latter throws, too.
  void (*begin_capture)(int8_t device, void* stream);
  void* (*end_capture)(int8_t device, void* stream);

  void (*replay)(void* graph, void* stream);
  void (*destroy)(void* graph);  // which may be under way; throws nothing
};

}  // namespace seekrl::graphs

// What dlsym looks for.
#define SEEKRL_GRAPHS_SYMBOL "seekrl_graphs"
extern "C" __attribute__((visibility("default"))) const seekrl::graphs::Library* seekrl_graphs();
