// The counter-based generator against its published answers, and the numbers made from it.
#include "base/random.h"

#include <cmath>

#include "check.h"

using namespace seekrl;

// Known answers of philox4x32-10 from Random123's kat_vectors (Salmon et al.).
TEST("philox gives the published words") {
  using Words = std::array<uint32_t, 4>;
  EXPECT((philox(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT((philox(~0ull, ~0ull, ~0ull) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT((philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) ==
          Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST("uniforms and normals have the right moments") {
  constexpr int kCount = 100000;
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, product = 0;
  for (int i = 0; i < kCount; ++i) {
    const double u = uniform(7, 3, i);
    EXPECT(u >= 0 && u < 1);
    sum += u;
    squares += u * u;
    const auto [first, second] = normal_pair(7, 4, i);
    normal_sum += first + second;
    normal_squares += first * first + second * second;
    product += first * second;
  }
  // Four standard errors.
  EXPECT_NEAR(sum / kCount, 0.5, 4 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 4 * std::sqrt(4.0 / 45 / kCount));
  EXPECT_NEAR(normal_sum / (2 * kCount), 0, 4 * std::sqrt(0.5 / kCount));
  EXPECT_NEAR(normal_squares / (2 * kCount), 1, 4 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(product / kCount, 0, 4 * std::sqrt(1.0 / kCount));
}
