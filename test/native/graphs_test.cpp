// The library that captures launches for CUDA, where it is built, beside a libtorch that need not know CUDA.
#include "graphs/graphs.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <cstring>
#include <filesystem>

#include "check.h"

TEST("the library of graphs opens without CUDA, is for this libtorch, and throws what CUDA refuses") {
  const auto folder = std::filesystem::canonical("/proc/self/exe").parent_path();
  const auto path = folder.filename() == "Release" ? folder : folder / "Release";
  const std::string file = path / "libseekrl_graphs.so";
  if (!std::filesystem::exists(file)) return std::puts("skipped: built without nvcc"), void();
  void* const opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) std::printf("%s\n", dlerror());
  EXPECT(opened != nullptr);
  if (opened == nullptr) return;
  const auto find = reinterpret_cast<decltype(&seekrl_graphs)>(dlsym(opened, SEEKRL_GRAPHS_SYMBOL));
  const seekrl::graphs::Library& library = *find();
  EXPECT(library.size == sizeof library && std::strcmp(library.torch, TORCH_VERSION) == 0);
  // No driver, no GPU, or the default stream, which is not captured.
  bool is_refused = false;
  try {
    library.begin_capture(0, nullptr);
  } catch (const c10::Error& error) {
    is_refused = std::strstr(error.what_without_backtrace(), "CUDA graph: ") != nullptr;
  }
  EXPECT(is_refused);
  // Of a pool that nobody knows there is nothing to end.
  library.end_pool(0, 7);
  library.release_pool(0, 7);
}
