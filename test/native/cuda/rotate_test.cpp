// Heads between projections and attention against f64.
#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/e4m3.h"
#include "projections.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

template <class Number>
void check_in_place(const Shape& shape, double tolerance) {
  const Projections<Number> of(shape);
  const Doubles truth = rotated(of);
  with_each_order([&] {
    std::vector<Number> data = of.data;
    EXPECT(rotate(of.call(data), nullptr) == nullptr);
    EXPECT(relative_error(dense(of, data), truth) < tolerance);
  });
}

}  // namespace

TEST("heads get their bias, norm and rotation, and keys and values their place in the blocks") {
  const int64_t block_tokens = 16;
  for (const auto& [width, half] : {std::pair<int64_t, int64_t>{64, 32}, {80, 40}, {96, 36}, {128, 0}, {256, 128}}) {
    const Shape shape{5, 3, 2, width, half, true, true};
    const Projections<Bf16> of(shape);
    const Doubles truth = rotated(of);
    const std::vector<int32_t> slots = {33, -1, 16, 47, 0};
    with_each_order([&] {
      std::vector<Bf16> data = of.data, keys = poison<Bf16>(3 * shape.kv_heads * block_tokens * width), values = keys;
      Rotate call = of.call(data);
      call.keys = keys.data();
      call.values = values.data();
      call.slots_T = slots.data();
      call.block_tokens = block_tokens;
      EXPECT(rotate(call, nullptr) == nullptr);
      for (int64_t token = 0; token < shape.tokens; ++token) {
        for (int64_t head = 0; head < shape.all_heads(); ++head) {
          const Bf16* from = data.data() + token * of.stride + head * width;
          if (head >= shape.heads) {
            if (slots[token] < 0) continue;
            const int64_t kv_head = (head - shape.heads) % shape.kv_heads;
            const int64_t block = slots[token] / block_tokens * shape.kv_heads + kv_head;
            from = (head < shape.heads + shape.kv_heads ? keys : values).data() +
                   (block * block_tokens + slots[token] % block_tokens) * width;
          }
          const auto expected = truth.begin() + (token * shape.all_heads() + head) * width;
          EXPECT(relative_error(std::vector<Bf16>(from, from + width), {expected, expected + width}) < 4e-3);
        }
      }
      EXPECT(std::isnan(value(keys[1 * width])));  // no token's place
    });
  }
}

TEST("blocks of codes of 8 bits get each head as near as codes are, with the least scale that holds it") {
  for (const auto& [width, half] : {std::pair<int64_t, int64_t>{64, 32}, {80, 20}, {256, 128}}) {
    const Shape shape{5, 2, 2, width, half, true, true};
    Projections<Bf16> of(shape);
    for (int64_t i = 0; i < width; ++i) {  // the first token's last head
      of.data[(shape.all_heads() - 1) * width + i] = from_float<Bf16>(i == 3 ? NAN : 1.0f);
    }
    const Doubles truth = rotated(of);
    const std::vector<int32_t> slots = {3, -1, 0, 1, 2};
    with_each_order([&] {
      std::vector<Bf16> data = of.data;
      std::vector<uint8_t> keys(4 * shape.kv_heads * width, 0xff), values = keys;
      std::vector<float> key_scales(4 * shape.kv_heads, -1), value_scales = key_scales;
      Rotate call = of.call(data);
      call.keys = keys.data();
      call.values = values.data();
      call.key_scales = key_scales.data();
      call.value_scales = value_scales.data();
      call.slots_T = slots.data();
      call.block_tokens = 2;
      EXPECT(rotate(call, nullptr) == nullptr);
      for (int64_t token = 0; token < shape.tokens; ++token) {
        for (int64_t head = shape.heads; head < shape.all_heads() && slots[token] >= 0; ++head) {
          const bool is_value = head >= shape.heads + shape.kv_heads;
          const int64_t kv_head = (head - shape.heads) % shape.kv_heads;
          const int64_t place = (slots[token] / 2 * shape.kv_heads + kv_head) * 2 + slots[token] % 2;
          const float scale = (is_value ? value_scales : key_scales)[place];
          const bool is_finite = token != 0 || head + 1 < shape.all_heads();
          EXPECT(is_finite == std::isfinite(scale));
          if (!is_finite) continue;
          double largest = 0;
          int64_t num_wrong = 0;
          for (int64_t c = 0; c < width; ++c) {
            const double x = truth[(token * shape.all_heads() + head) * width + c];
            const uint8_t code = (is_value ? values : keys)[place * width + c];
            largest = std::max(largest, std::fabs(x));
            // Half a step of the mantissa's 3 bits, or of the least numbers.
            const double error = std::fabs(unpack_e4m3(code, 0) * scale - x);
            num_wrong += error <= std::fabs(x) / 15.9 + scale * 0x1p-10 ? 0 : 1;
          }
          EXPECT(num_wrong == 0 && largest <= 448.001 * scale && largest > 223.9 * scale);
        }
      }
    });
  }
}

TEST("without blocks, keys are rotated and values get their bias where they are, as training needs them") {
  check_in_place<Bf16>({5, 3, 2, 64, 32, true, true}, 4e-3);
  check_in_place<Bf16>({3, 2, 1, 80, 40, true, false}, 4e-3);
  check_in_place<F16>({7, 4, 4, 96, 36, false, true, 1}, 5e-4);
  check_in_place<F16>({2, 1, 1, 256, 128, false, false}, 5e-4);
  check_in_place<Bf16>({3, 2, 1, 128, 0, true, false}, 4e-3);
}
