// The table, filled.
#include "kernels/cuda/library.h"

extern "C" const seekrl::cuda::Library* seekrl_kernels() {
  using namespace seekrl::cuda;
  static const Library library = {sizeof(Library),
#define SEEKRL_FUNCTION(name) &name,
                                  SEEKRL_CUDA_FUNCTIONS(SEEKRL_FUNCTION)
#undef SEEKRL_FUNCTION
  };
  return &library;
}
