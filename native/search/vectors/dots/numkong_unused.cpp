// Stands in for NumKong's kernels of the scalar types that no index stores, so that they need not be compiled.
#include <numkong/capabilities.h>

// A `find` that leaves its outputs as they are means: no kernel for this type.
#define UNUSED_TYPE(type)                                                                                   \
  extern "C" void nk_dispatch_##type##_init_(nk_capability_t) {}                                            \
  extern "C" void nk_dispatch_##type##_find_(nk_capability_t, nk_kernel_kind_t, nk_kernel_punned_t* kernel, \
                                             nk_capability_t*) {                                            \
    *kernel = nullptr;                                                                                      \
  }

UNUSED_TYPE(f64c)
UNUSED_TYPE(f32c)
UNUSED_TYPE(bf16c)
UNUSED_TYPE(f16c)
UNUSED_TYPE(f64)
UNUSED_TYPE(f16)
UNUSED_TYPE(e5m2)
UNUSED_TYPE(e4m3)
UNUSED_TYPE(e3m2)
UNUSED_TYPE(e2m3)
UNUSED_TYPE(i64)
UNUSED_TYPE(i32)
UNUSED_TYPE(i16)
UNUSED_TYPE(i4)
UNUSED_TYPE(u64)
UNUSED_TYPE(u32)
UNUSED_TYPE(u16)
UNUSED_TYPE(u8)
UNUSED_TYPE(u4)

#undef UNUSED_TYPE
