// Makes blocks.json.gz: for every type of tensors that is read, twelve rows of 256 numbers and what ggml widens them to,
// both in base64. Six rows are weights that ggml quantised; six are blocks of random bytes whose scales are as small,
// as large, as negative and as zero as they may be, then of ones alone and of zeros alone.
//
// gcc -I$GGML/include -I$GGML/src make.c $GGML/src/ggml-quants.c -lm -o make && ./make | gzip -9n > blocks.json.gz
// with $GGML a checkout of github.com/ggml-org/ggml (d99724f2), whose ggml-quants.c is llama.cpp's.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-impl.h"
#include "ggml-quants.h"

#define COLUMNS 256
#define ROWS 6                     // of weights, and of edges
#define COUNT (2 * ROWS * COLUMNS)  // numbers in all

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

static uint32_t state = 1;
static uint32_t draw(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

// Plain numbers, by ggml's own conversions.
static void narrow_f32(const float* x, void* y, int64_t count) { memcpy(y, x, (size_t)count * 4); }
static void widen_f32(const void* x, float* y, int64_t count) { memcpy(y, x, (size_t)count * 4); }
static void narrow_f16(const float* x, void* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) ((ggml_half*)y)[i] = GGML_COMPUTE_FP32_TO_FP16(x[i]);
}
static void widen_f16(const void* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = GGML_COMPUTE_FP16_TO_FP32(((const ggml_half*)x)[i]);
}
static void narrow_bf16(const float* x, void* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) ((ggml_bf16_t*)y)[i] = ggml_compute_fp32_to_bf16(x[i]);
}
static void widen_bf16(const void* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = ggml_compute_bf16_to_fp32(((const ggml_bf16_t*)x)[i]);
}

typedef struct {
  const char* name;
  int size, bytes;  // numbers and bytes of a block
  void (*quantise)(const float*, void*, int64_t);
  void (*widen)(const void*, float*, int64_t);
  int scales[2];  // places of its f16 scales, -1 for none
} Type;

#define BLOCKS(NAME, LOWER, SIZE, FIRST, SECOND)                        \
  {NAME,                                                                \
   SIZE,                                                                \
   sizeof(block_##LOWER),                                               \
   (void (*)(const float*, void*, int64_t))quantize_row_##LOWER##_ref, \
   (void (*)(const void*, float*, int64_t))dequantize_row_##LOWER,     \
   {FIRST, SECOND}}

static const Type types[] = {
    {"F32", 1, 4, narrow_f32, widen_f32, {-1, -1}},
    {"F16", 1, 2, narrow_f16, widen_f16, {0, -1}},
    {"BF16", 1, 2, narrow_bf16, widen_bf16, {0, -1}},
    BLOCKS("Q4_0", q4_0, 32, 0, -1),
    BLOCKS("Q4_1", q4_1, 32, 0, 2),
    BLOCKS("Q5_0", q5_0, 32, 0, -1),
    BLOCKS("Q5_1", q5_1, 32, 0, 2),
    BLOCKS("Q8_0", q8_0, 32, 0, -1),
    BLOCKS("Q2_K", q2_K, 256, 80, 82),
    BLOCKS("Q3_K", q3_K, 256, 108, -1),
    BLOCKS("Q4_K", q4_K, 256, 0, 2),
    BLOCKS("Q5_K", q5_K, 256, 0, 2),
    BLOCKS("Q6_K", q6_K, 256, 208, -1),
    BLOCKS("IQ4_NL", iq4_nl, 32, 0, -1),
    BLOCKS("IQ4_XS", iq4_xs, 256, 0, -1),
    BLOCKS("MXFP4", mxfp4, 32, -1, -1),
};

// Bits of f16: the least and the largest of each sign, subnormal ones, zeros, common ones.
static const uint16_t edges[] = {0x8001, 0x0001, 0x7bff, 0xfbff, 0x0000, 0x8000, 0xb400, 0x3555, 0x03ff, 0x83ff, 0x0400};
// Exponents of MXFP4; of the last only codes up to 3 are finite.
static const uint8_t exponents[] = {0, 1, 2, 127, 64, 200, 251, 254};

static void put_edge(const Type* type, uint8_t* block, int row, int index) {
  for (int i = 0; i < type->bytes; ++i) block[i] = row < 4 ? (uint8_t)draw() : row == 4 ? 0xff : 0;
  const int place = type->size == 256 ? 2 * row : 5 * row + index;
  for (int i = 0; i < 2; ++i) {
    const uint16_t bits = row < 4 ? edges[(place + i) % 11] : 0x3555;
    if (type->scales[i] >= 0) memcpy(block + type->scales[i], &bits, 2);
  }
  if (!strcmp(type->name, "MXFP4")) {
    block[0] = row < 4 ? exponents[(row + index) % 8] : 127;
    for (int i = 1; i < 17 && block[0] == 254; ++i) block[i] &= 0xbb;
  }
  const float plain = row == 5 ? -0.0f : (float)draw() * 1e-40f;
  if (!strcmp(type->name, "F32")) memcpy(block, &plain, 4);
}

static void print_base64(const char* key, const void* from, size_t size) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const uint8_t* bytes = from;
  printf("\"%s\": \"", key);
  for (size_t i = 0; i < size; i += 3) {
    uint32_t group = 0;
    for (size_t j = i; j < i + 3; ++j) group = group << 8 | (j < size ? bytes[j] : 0);
    for (size_t j = 0; j < 4; ++j) putchar(i + j <= size ? letters[group >> (18 - 6 * j) & 63] : '=');
  }
  printf("\"");
}

int main(void) {
  static float weights[COUNT / 2], widened[COUNT];
  static uint8_t blocks[COUNT * 4];
  for (int i = 0; i < COUNT / 2; ++i) {
    float sum = 0;
    for (int j = 0; j < 6; ++j) sum += (float)draw() / (1 << 24) - 0.5f;
    weights[i] = sum * (0.05f + 0.02f * (float)(i / 100));
  }
  const int num_types = sizeof(types) / sizeof(types[0]);
  printf("{\n");
  for (const Type* type = types; type < types + num_types; ++type) {
    const int in_row = COLUMNS / type->size;
    type->quantise(weights, blocks, COUNT / 2);
    for (int i = 0; i < ROWS * in_row; ++i) {
      put_edge(type, blocks + (ROWS * in_row + i) * type->bytes, i / in_row, i % in_row);
    }
    type->widen(blocks, widened, COUNT);
    for (int i = 0; i < COUNT; ++i) {
      if (widened[i] - widened[i] != 0) fprintf(stderr, "%s: number %d is not finite\n", type->name, i);
    }
    printf("  \"%s\": {", type->name);
    print_base64("blocks", blocks, (size_t)(2 * ROWS * in_row * type->bytes));
    printf(", ");
    print_base64("f32", widened, sizeof(widened));
    printf("}%s\n", type + 1 < types + num_types ? "," : "");
  }
  printf("}\n");
  return 0;
}
