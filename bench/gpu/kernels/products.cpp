// Products of 16 bits, of the sizes of real models too, where some outputs are held against sums of the host's.
#include <cstring>

#include "fixtures.h"
#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

namespace {

struct Sizes {
  int64_t m, n, k;
  Dtype dtype;
};

// A row of `width` numbers of the GPU's memory.
std::vector<double> row_of(const void* rows, int64_t row, int64_t width, Dtype dtype) {
  const std::vector<uint8_t> bytes = read_back(static_cast<const uint16_t*>(rows) + row * width, 2 * width);
  std::vector<double> numbers(width);
  for (int64_t i = 0; i < width; ++i) numbers[i] = number_at(bytes, kind_of(dtype), i);
  return numbers;
}

// Of 256 outputs [M, N], the four corners and others all over it, the first that is further from the sum in f64 of its
// products than its rounding to 16 bits and f32 sums allow. x [M, K], w [N, K].
std::string first_wrong_product(const Sizes& sizes, const void* out, const void* x, const void* w) {
  const auto [m, n, k, dtype] = sizes;
  for (int64_t i = 0; i < 256; ++i) {
    const int64_t row = i < 4 ? i / 2 * (m - 1) : i * 7919 % m, column = i < 4 ? i % 2 * (n - 1) : i * 104729 % n;
    const std::vector<double> left = row_of(x, row, k, dtype), right = row_of(w, column, k, dtype);
    double expected = 0;
    for (int64_t j = 0; j < k; ++j) expected += left[j] * right[j];
    const double actual = row_of(static_cast<const uint16_t*>(out) + row * n + column, 0, 1, dtype)[0];
    if (std::fabs(actual - expected) <= std::fabs(expected) * 0x1p-8 + 1e-3) continue;
    return "[" + std::to_string(row) + ", " + std::to_string(column) + "] " + std::to_string(actual) + ", expected " +
           std::to_string(expected);
  }
  return "";
}

Prepared prepare_product(Memory& memory, const Sizes& sizes) {
  const auto [m, n, k, dtype] = sizes;
  void* const out = memory.poisoned(dtype, m * n);
  const void *const x = memory.numbers(dtype, m * k), *const w = weight_of(memory, dtype, n, k);
  Calls run;
  add_forward(run, dtype, out, x, w, nullptr, m, n, k);
  return {run, {{"out", out, m * n, kind_of(dtype), 1e-2}}, [=] { return first_wrong_product(sizes, out, x, w); }};
}

void add(Cases& cases, const std::string& name, const Sizes& sizes, Use use) {
  const auto [m, n, k, dtype] = sizes;
  const double size = static_cast<double>(n) * static_cast<double>(k), rows = static_cast<double>(m);
  const double bytes = 2 * (size + rows * static_cast<double>(n + k));
  cases.push_back({.name = "product " + name + ", " + std::to_string(m) + " x " + std::to_string(n) + " x " +
                           std::to_string(k) + (dtype == Dtype::kF16 ? ", f16" : ""),
                   .items = rows,
                   .item = "row",
                   .bytes = bytes,
                   .flop = 2 * rows * size,
                   .memory = bytes + 1e9,
                   .prepare = [sizes](Memory& memory) { return prepare_product(memory, sizes); },
                   .use = use});
}

}  // namespace

void add_product_cases(Cases& cases, bool is_tiny) {
  // Every tiling, and edges of each.
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF16}) {
    for (const int64_t m : {1, 5, 16, 17, 64, 65, 130, 257}) {
      add(cases, "odd", {m, 72, 136, dtype}, Use::kCheck);
      add(cases, "wide", {m, 264, 72, dtype}, Use::kCheck);
    }
  }
  for (const Model& model : models(is_tiny)) {
    for (const int64_t m : is_tiny ? std::vector<int64_t>{5} : std::vector<int64_t>{1, 64, 256, 8192}) {
      add(cases, model.name + " qkv", {m, model.qkv_width(), model.hidden, model.dtype}, Use::kTable);
      add(cases, model.name + " gate, up", {m, 2 * model.inner, model.hidden, model.dtype}, Use::kTable);
      add(cases, model.name + " down", {m, model.hidden, model.inner, model.dtype}, Use::kTable);
    }
  }
}

}  // namespace seekrl::bench
