/** NumKong's product of one pair of stored vectors, for each scalar type that an index stores. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* f32, bf16 and i8: the sum over n components of a times b. b1: how many of n bits differ, n a multiple of 64. */
typedef struct {
  void (*f32)(const float* a, const float* b, size_t n, double* sum);
  void (*bf16)(const void* a, const void* b, size_t n, float* sum);
  void (*i8)(const signed char* a, const signed char* b, size_t n, int* sum);
  void (*b1)(const unsigned char* a, const unsigned char* b, size_t n, unsigned* num_different);
} SeekrlPairProducts;

/* The fastest of this processor, or of those that need no more than AVX2. */
SeekrlPairProducts seekrl_pair_products(int is_avx2_most);

#ifdef __cplusplus
}
#endif
