// Makes blocks.json: weights quantised by ggml, and what ggml widens them to.
//
// gcc -I$GGML/include -I$GGML/src make.c $GGML/src/ggml-quants.c -lm -o make && ./make > blocks.json
// with $GGML a checkout of github.com/ggml-org/ggml (d99724f2).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ggml-quants.h"

#define COUNT 1024  // four rows of 256

// What ggml-quants.c wants of the rest of ggml.
void ggml_abort(const char* file, int line, const char* format, ...) {
  fprintf(stderr, "%s:%d: %s\n", file, line, format);
  abort();
}
void ggml_log_internal(enum ggml_log_level level, const char* format, ...) { (void)level, (void)format; }
size_t ggml_row_size(enum ggml_type type, int64_t count) { return (void)type, (size_t)count; }
size_t ggml_type_size(enum ggml_type type) { return (void)type, 0; }
int64_t ggml_blck_size(enum ggml_type type) { return (void)type, 1; }
const char* ggml_type_name(enum ggml_type type) { return (void)type, ""; }
void ggml_critical_section_start(void) {}
void ggml_critical_section_end(void) {}
float ggml_table_f32_f16[1 << 16];

static void print_hex(const char* key, const void* bytes, size_t size) {
  printf("\"%s\": \"", key);
  for (size_t i = 0; i < size; ++i) printf("%02x", ((const uint8_t*)bytes)[i]);
  printf("\"");
}

static void show(const char* name, const void* blocks, size_t size, const float* widened, int is_last) {
  printf("  \"%s\": {", name);
  print_hex("blocks", blocks, size);
  printf(", ");
  print_hex("f32", widened, COUNT * sizeof(float));
  printf("}%s\n", is_last ? "" : ",");
}

int main(void) {
  float weights[COUNT], widened[COUNT];
  uint32_t state = 1;
  for (int i = 0; i < COUNT; ++i) {
    float sum = 0;
    for (int j = 0; j < 6; ++j) {
      state = state * 1664525u + 1013904223u;
      sum += (float)(state >> 8) / (1 << 24) - 0.5f;
    }
    weights[i] = sum * (0.05f + 0.3f * (float)(i / 100));
  }
  printf("{\n");
  block_q8_0 q8_0[COUNT / 32];
  quantize_row_q8_0_ref(weights, q8_0, COUNT);
  dequantize_row_q8_0(q8_0, widened, COUNT);
  show("Q8_0", q8_0, sizeof(q8_0), widened, 0);
  block_q4_0 q4_0[COUNT / 32];
  quantize_row_q4_0_ref(weights, q4_0, COUNT);
  dequantize_row_q4_0(q4_0, widened, COUNT);
  show("Q4_0", q4_0, sizeof(q4_0), widened, 0);
  block_q4_K q4_k[COUNT / 256];
  quantize_row_q4_K_ref(weights, q4_k, COUNT);
  dequantize_row_q4_K(q4_k, widened, COUNT);
  show("Q4_K", q4_k, sizeof(q4_k), widened, 0);
  block_q6_K q6_k[COUNT / 256];
  quantize_row_q6_K_ref(weights, q6_k, COUNT);
  dequantize_row_q6_K(q6_k, widened, COUNT);
  show("Q6_K", q6_k, sizeof(q6_k), widened, 1);
  printf("}\n");
  return 0;
}
