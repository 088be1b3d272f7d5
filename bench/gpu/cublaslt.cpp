// The few functions of cuBLASLt's C interface that a product takes, with the numbers of its public enumerations.
#include "cublaslt.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

namespace seekrl::bench {

namespace {

using Status = int;
using Handle = void*;
constexpr int kFloat = 0, kBf16 = 14, kComputeFloat = 68;  // CUDA_R_32F, CUDA_R_16BF, CUBLAS_COMPUTE_32F
constexpr int kTransposeA = 3, kTransposed = 1;            // CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T
constexpr int kMaxWorkspace = 1;                           // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
constexpr int64_t kWorkspaceBytes = 32 << 20;

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

struct Functions {
  Status (*cublasLtCreate)(Handle*);
  Status (*cublasLtMatmulDescCreate)(Handle*, int compute, int scale);
  Status (*cublasLtMatmulDescSetAttribute)(Handle, int attribute, const void* value, size_t size);
  Status (*cublasLtMatrixLayoutCreate)(Handle*, int type, uint64_t rows, uint64_t columns, int64_t stride);
  Status (*cublasLtMatmulPreferenceCreate)(Handle*);
  Status (*cublasLtMatmulPreferenceSetAttribute)(Handle, int attribute, const void* value, size_t size);
  Status (*cublasLtMatmulAlgoGetHeuristic)(Handle, Handle product, Handle a, Handle b, Handle c, Handle d,
                                           Handle preference, int wanted, Heuristic* results, int* found);
  Status (*cublasLtMatmul)(Handle, Handle product, const void* alpha, const void* a, Handle of_a, const void* b,
                           Handle of_b, const void* beta, const void* c, Handle of_c, void* d, Handle of_d,
                           const Algorithm*, void* workspace, size_t workspace_bytes, void* stream);
};

void check(Status status, const char* what) {
  if (status != 0) throw DeviceError(std::string(what) + " of cuBLASLt answers " + std::to_string(status));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw DeviceError(std::string("cuBLASLt has no ") + name);
}

Functions load() {
  void* library = nullptr;
  const char* const given = std::getenv("SEEKRL_CUBLASLT");
  for (const char* name : {given, "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
    if (name != nullptr && library == nullptr) library = dlopen(name, RTLD_NOW);
  }
  if (library == nullptr) throw DeviceError("cuBLASLt is not found; SEEKRL_CUBLASLT names its file");
  Functions f;
#define SEEKRL_FIND(name) find(library, #name, f.name)
  SEEKRL_FIND(cublasLtCreate);
  SEEKRL_FIND(cublasLtMatmulDescCreate);
  SEEKRL_FIND(cublasLtMatmulDescSetAttribute);
  SEEKRL_FIND(cublasLtMatrixLayoutCreate);
  SEEKRL_FIND(cublasLtMatmulPreferenceCreate);
  SEEKRL_FIND(cublasLtMatmulPreferenceSetAttribute);
  SEEKRL_FIND(cublasLtMatmulAlgoGetHeuristic);
  SEEKRL_FIND(cublasLtMatmul);
#undef SEEKRL_FIND
  return f;
}

const Functions& functions() {
  static const Functions loaded = load();
  return loaded;
}

Handle handle() {
  static Handle made = [] {
    Handle h = nullptr;
    check(functions().cublasLtCreate(&h), "cublasLtCreate");
    return h;
  }();
  return made;
}

// What a product is, and the kernel for it. Handles live as long as the program.
struct Plan {
  Handle product = nullptr, w = nullptr, x = nullptr, out = nullptr;
  Heuristic best = {};
};

Plan plan(int64_t m, int64_t n, int64_t k) {
  const Functions& f = functions();
  Plan p;
  check(f.cublasLtMatmulDescCreate(&p.product, kComputeFloat, kFloat), "cublasLtMatmulDescCreate");
  const int transposed = kTransposed;
  check(f.cublasLtMatmulDescSetAttribute(p.product, kTransposeA, &transposed, sizeof transposed), "transposing");
  // Columns first: w [N, K] by rows is [K, N], and out [M, N] by rows is [N, M] = w^T x.
  check(f.cublasLtMatrixLayoutCreate(&p.w, kBf16, k, n, k), "a layout");
  check(f.cublasLtMatrixLayoutCreate(&p.x, kBf16, k, m, k), "a layout");
  check(f.cublasLtMatrixLayoutCreate(&p.out, kBf16, n, m, n), "a layout");
  Handle preference = nullptr;
  check(f.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const uint64_t bytes = kWorkspaceBytes;
  check(f.cublasLtMatmulPreferenceSetAttribute(preference, kMaxWorkspace, &bytes, sizeof bytes), "a workspace");
  int found = 0;
  check(f.cublasLtMatmulAlgoGetHeuristic(handle(), p.product, p.w, p.x, p.out, p.out, preference, 1, &p.best, &found),
        "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0) throw DeviceError("cuBLASLt has no kernel for this product");
  return p;
}

}  // namespace

Launch cublaslt_product(Memory& memory, void* out, const void* x, const void* w, int64_t m, int64_t n, int64_t k) {
  const auto planned = std::make_shared<const Plan>(plan(m, n, k));
  void* const workspace = memory.bytes(kWorkspaceBytes);
  return [=](void* stream) -> cuda::Status {
    const float one = 1, zero = 0;
    const Plan& p = *planned;
    const Status status = functions().cublasLtMatmul(handle(), p.product, &one, w, p.w, x, p.x, &zero, out, p.out, out,
                                                     p.out, &p.best.algorithm, workspace, kWorkspaceBytes, stream);
    return status == 0 ? nullptr : "cublasLtMatmul failed";
  };
}

}  // namespace seekrl::bench
