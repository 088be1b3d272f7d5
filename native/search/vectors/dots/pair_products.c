/* Compiles the four kernels of NumKong that an index needs at every instruction set, and chooses this processor's.
 * NumKong's own table would bring its kernels of all types. */
#include "pair_products.h"

#include <numkong/capabilities.h>
#include <numkong/dot.h>
#include <numkong/set.h>

typedef void (*Bf16Product)(const void*, const void*, size_t, float*);
typedef void (*F32Product)(const float*, const float*, size_t, double*);
typedef void (*I8Product)(const signed char*, const signed char*, size_t, int*);
typedef void (*B1Product)(const unsigned char*, const unsigned char*, size_t, unsigned*);

/* The first that the compiler knows and the processor has. */
#define CHOOSE(target, type, kernel) \
  if (has & nk_cap_##target##_k) return (type)nk_##kernel##_##target;

static F32Product f32_product(nk_capability_t has) {
#if NK_TARGET_SKYLAKE
  CHOOSE(skylake, F32Product, dot_f32)
#endif
#if NK_TARGET_HASWELL
  CHOOSE(haswell, F32Product, dot_f32)
#endif
#if NK_TARGET_NEON
  CHOOSE(neon, F32Product, dot_f32)
#endif
  CHOOSE(serial, F32Product, dot_f32)
  return NULL;
}

static Bf16Product bf16_product(nk_capability_t has) {
#if NK_TARGET_GENOA
  CHOOSE(genoa, Bf16Product, dot_bf16)
#endif
#if NK_TARGET_SKYLAKE
  CHOOSE(skylake, Bf16Product, dot_bf16)
#endif
#if NK_TARGET_HASWELL
  CHOOSE(haswell, Bf16Product, dot_bf16)
#endif
#if NK_TARGET_NEONBFDOT
  CHOOSE(neonbfdot, Bf16Product, dot_bf16)
#endif
#if NK_TARGET_NEON
  CHOOSE(neon, Bf16Product, dot_bf16)
#endif
  CHOOSE(serial, Bf16Product, dot_bf16)
  return NULL;
}

static I8Product i8_product(nk_capability_t has) {
#if NK_TARGET_ICELAKE
  CHOOSE(icelake, I8Product, dot_i8)
#endif
#if NK_TARGET_SKYLAKE
  CHOOSE(skylake, I8Product, dot_i8)
#endif
#if NK_TARGET_ALDER
  CHOOSE(alder, I8Product, dot_i8)
#endif
#if NK_TARGET_HASWELL
  CHOOSE(haswell, I8Product, dot_i8)
#endif
#if NK_TARGET_NEONSDOT
  CHOOSE(neonsdot, I8Product, dot_i8)
#endif
  CHOOSE(serial, I8Product, dot_i8)
  return NULL;
}

static B1Product b1_product(nk_capability_t has) {
#if NK_TARGET_ICELAKE
  CHOOSE(icelake, B1Product, hamming_u1)
#endif
#if NK_TARGET_HASWELL
  CHOOSE(haswell, B1Product, hamming_u1)
#endif
#if NK_TARGET_NEON
  CHOOSE(neon, B1Product, hamming_u1)
#endif
  CHOOSE(serial, B1Product, hamming_u1)
  return NULL;
}

SeekrlPairProducts seekrl_pair_products(int is_avx2_most) {
  const nk_capability_t more = nk_cap_skylake_k | nk_cap_icelake_k | nk_cap_genoa_k | nk_cap_alder_k;
  const nk_capability_t has = nk_capabilities_() & (is_avx2_most ? ~more : ~(nk_capability_t)0);
  const SeekrlPairProducts products = {f32_product(has), bf16_product(has), i8_product(has), b1_product(has)};
  return products;
}
