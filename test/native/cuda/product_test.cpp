// Products of factors of 16 bits against f64, and the bits of every tiling against each other's.
#include "kernels/cuda/product/product.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/product/kernel.cuh"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

// f32 sums of at most 840 products of normals; f64's own error is nothing beside it.
constexpr double kSumError = 1e-6;

using Run = Status (*)(const Product&, void*);

// Rows of `length` random numbers, `stride` apart; what is between them may not be read.
template <class Number>
std::vector<Number> rows_of(int64_t count, int64_t length, int64_t stride, uint64_t stream) {
  const auto numbers = normals<Number>(count * length, stream);
  auto rows = poison<Number>(count * stride);
  for (int64_t i = 0; i < count; ++i) std::copy_n(numbers.begin() + i * length, length, rows.begin() + i * stride);
  return rows;
}

// Two random factors and their product in f64.
template <class Number>
struct Factors {
  Factors(ProductForm form, int64_t m, int64_t n, int64_t k) {
    const bool is_left_across = form == ProductForm::kWeightGradient, is_right_across = form != ProductForm::kForward;
    call.form = form;
    call.m = m;
    call.n = n;
    call.k = k;
    call.dtype = kDtype<Number>;
    call.left_stride = (is_left_across ? m : k) + 8;
    call.right_stride = (is_right_across ? n : k) + 16;
    left = rows_of<Number>(is_left_across ? k : m, call.left_stride - 8, call.left_stride, 1);
    right = rows_of<Number>(is_right_across ? k : n, call.right_stride - 16, call.right_stride, 2);
    call.left = left.data();
    call.right = right.data();
    truth.resize(m * n);
    for (int64_t i = 0; i < m * n; ++i) {
      for (int64_t c = 0; c < k; ++c) {
        const int64_t row = i / n, column = i % n;
        truth[i] += value(left[is_left_across ? c * call.left_stride + row : row * call.left_stride + c]) *
                    value(right[is_right_across ? c * call.right_stride + column : column * call.right_stride + c]);
      }
    }
  }

  // The product by `run`, rows `stride` apart; what is between them must stay.
  template <class Out>
  std::vector<Out> product_by(Run run, int64_t stride, std::vector<Out> out) const {
    Product product = call;
    product.out_MN = out.data();
    product.out_stride = stride;
    product.out_dtype = std::is_same_v<Out, float> ? Dtype::kFloat : kDtype<Number>;
    EXPECT(run(product, nullptr) == nullptr);
    std::vector<Out> values;
    for (int64_t i = 0; i < call.m * stride; ++i) {
      if (i % stride < call.n) {
        values.push_back(out[i]);
      } else {
        EXPECT(std::isnan(value(out[i])));
      }
    }
    return values;
  }
  template <class Out = float>
  std::vector<Out> product_by(Run run, int64_t stride = 0) const {
    if (stride == 0) stride = call.n;
    return product_by(run, stride, poison<Out>(call.m * stride));
  }

  Product call = {};
  std::vector<Number> left, right;
  std::vector<double> truth;
};

// product() itself, then each tiling.
template <class Number, ProductForm kForm>
std::vector<Run> runs() {
  std::vector<Run> all = {&product, &launch_product<Number, Rows64, kForm>, &launch_product<Number, Rows128, kForm>};
  if constexpr (kForm == ProductForm::kForward) {
    all.push_back(&launch_product<Number, Rows16Narrow, kForm>);
    all.push_back(&launch_product<Number, Rows16, kForm>);
    all.push_back(&launch_product<Number, Rows32Narrow, kForm>);
    all.push_back(&launch_product<Number, Rows32, kForm>);
    all.push_back(&launch_product<Number, Rows64Narrow, kForm>);
  }
  return all;
}

template <class Number, ProductForm kForm>
void check(int64_t m, int64_t n, int64_t k) {
  const Factors<Number> factors(kForm, m, n, k);
  with_each_order([&] {
    std::vector<float> first;
    for (const Run run : runs<Number, kForm>()) {
      const std::vector<float> out = factors.product_by(run, n + n % 2 + 4);
      EXPECT(relative_error(out, factors.truth) < kSumError);
      if (first.empty()) first = out;
      EXPECT(out == first);
    }
  });
}

}  // namespace

TEST("products of 16 bits are those of f64 with the same bits in every tiling, whatever their sizes") {
  check<Bf16, ProductForm::kForward>(3, 67, 200);
  check<F16, ProductForm::kForward>(70, 33, 136);
  check<Bf16, ProductForm::kForward>(17, 130, 8);
  check<F16, ProductForm::kForward>(1, 1, 64);
}

TEST("gradients of a product's input are those of f64 with the same bits in every tiling") {
  check<Bf16, ProductForm::kInputGradient>(67, 136, 72);
  check<F16, ProductForm::kInputGradient>(3, 8, 200);
}

TEST("gradients of a product's weight are those of f64 with the same bits in every tiling, over any number of rows") {
  check<Bf16, ProductForm::kWeightGradient>(72, 136, 67);
  check<F16, ProductForm::kWeightGradient>(136, 8, 131);
}

TEST("a depth of many stages has the same bits where the stages are used again") {
  const Factors<Bf16> factors(ProductForm::kForward, 2, 9, 840);
  const std::vector<float> few = factors.product_by(&launch_product<Bf16, Rows16Narrow, ProductForm::kForward>);
  EXPECT(relative_error(few, factors.truth) < kSumError);
  EXPECT(few == factors.product_by(&launch_product<Bf16, Rows16, ProductForm::kForward>));
  EXPECT(few == factors.product_by(&launch_product<Bf16, Rows32Narrow, ProductForm::kForward>));
  EXPECT(few == factors.product_by(&launch_product<Bf16, Rows64Narrow, ProductForm::kForward>));
}

TEST("many tiles, in groups of rows, each give their own part of a product") {
  const Factors<Bf16> factors(ProductForm::kForward, 18 * 16 + 3, 40, 16);
  const std::vector<float> out = factors.product_by(&launch_product<Bf16, Rows16Narrow, ProductForm::kForward>);
  EXPECT(relative_error(out, factors.truth) < kSumError);
}

TEST("a row's product has the same bits alone and among any others") {
  const Factors<Bf16> factors(ProductForm::kForward, 70, 40, 328);
  const std::vector<float> all = factors.product_by(&product);
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {33, 1}, {69, 1}, {5, 20}, {10, 40}}) {
    Product call = factors.call;
    std::vector<float> out = poison<float>(count * 40);
    call.left = factors.left.data() + first * call.left_stride;
    call.m = count;
    call.out_MN = out.data();
    call.out_stride = 40;
    call.out_dtype = Dtype::kFloat;
    EXPECT(product(call, nullptr) == nullptr);
    EXPECT(std::equal(out.begin(), out.end(), all.begin() + first * 40));
  }
}

template <class Number>
void check_out(int64_t m, int64_t n, int64_t k, int64_t stride) {
  Factors<Number> factors(ProductForm::kForward, m, n, k);
  const auto bias = normals<Number>(n, 3);
  const auto before = rows_of<float>(m, n, stride, 4);
  const auto numbers_before = rows_of<Number>(m, n, stride, 4);
  const std::vector<float> plain = factors.product_by(&product);
  factors.call.bias_N = bias.data();
  factors.call.scale = 0.3f;
  with_each_order([&] {
    factors.call.adds = false;
    const auto wide = factors.product_by(&product, stride);
    const auto rounded = factors.template product_by<Number>(&product, stride);
    factors.call.adds = true;
    const auto sum = factors.product_by(&product, stride, before);
    const auto rounded_sum = factors.product_by(&product, stride, numbers_before);
    for (int64_t i = 0; i < m * n; ++i) {
      const int64_t at = i / n * stride + i % n;
      EXPECT(wide[i] == std::fma(0.3f, plain[i], to_float(bias[i % n])));
      EXPECT(rounded[i].bits == from_float<Number>(wide[i]).bits);
      EXPECT(sum[i] == wide[i] + before[at]);
      EXPECT(rounded_sum[i].bits == from_float<Number>(wide[i] + to_float(numbers_before[at])).bits);
    }
  });
}

TEST("a product is scaled, given its bias, added to what is there and rounded once, by pieces and by single values") {
  check_out<Bf16>(19, 72, 40, 80);
  check_out<F16>(35, 21, 24, 24);
  check_out<Bf16>(5, 9, 16, 9);
}

TEST("a depth of nothing gives the bias, and sizes that loads of 16 bytes do not fit are refused") {
  Factors<Bf16> factors(ProductForm::kForward, 3, 8, 0);
  const auto bias = normals<Bf16>(8, 3);
  factors.call.bias_N = bias.data();
  const std::vector<float> out = factors.product_by(&product);
  for (int64_t i = 0; i < 24; ++i) EXPECT(out[i] == to_float(bias[i % 8]));

  const Product call = {nullptr,      nullptr,       nullptr, nullptr, 8, 8, 8, 8, 8, 8, ProductForm::kForward,
                        Dtype::kBf16, Dtype::kFloat, false};
  const auto refuses = [&](auto change) {
    Product wrong = call;
    change(wrong);
    return product(wrong, nullptr) != nullptr;
  };
  EXPECT(refuses([](Product& p) { p.k = 12; }));
  EXPECT(refuses([](Product& p) { p.left_stride = 12; }));
  EXPECT(refuses([](Product& p) { p.right_stride = 12; }));
  EXPECT(refuses([](Product& p) { p.out_dtype = Dtype::kF16; }));
  EXPECT(refuses([](Product& p) { p.dtype = p.out_dtype = Dtype::kFloat; }));
  EXPECT(refuses([](Product& p) { p.form = ProductForm::kInputGradient, p.n = 12; }));
  EXPECT(refuses([](Product& p) { p.form = ProductForm::kWeightGradient, p.m = 12; }));
}

TEST("a product's matrices are read without bank conflicts") {
  emulator::counts.num_bank_conflicts = 0;
  const auto read = []<class Number, ProductForm kForm>() {
    const Factors<Number> factors(kForm, 16, 16, 64);
    for (const Run run : runs<Number, kForm>()) factors.product_by(run);
  };
  read.operator()<Bf16, ProductForm::kForward>();
  read.operator()<Bf16, ProductForm::kInputGradient>();
  read.operator()<Bf16, ProductForm::kWeightGradient>();
  EXPECT(emulator::counts.num_bank_conflicts == 0);
}
