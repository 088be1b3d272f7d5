// The exponential of every kernel, written once for scalars; the vector forms run the same operations.
//
// Range reduction by powers of two and a polynomial of degree 6 (coefficients: Moshier's Cephes, expf); at most 2 ulp.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace seekrl::kernels {

inline constexpr float kExpLowest = -87.0f;  // below: zero
inline constexpr float kExpHighest = 88.0f;  // above: exp(88)
// What stands for all less, minus infinity too, where x is multiplied by its exponential, which is zero.
inline constexpr float kExpNone = -1000.0f;
inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr float kMinusLn2High = -0.693359375f;
inline constexpr float kMinusLn2Low = 2.12194440e-4f;
inline constexpr float kExpPolynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                           4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};

inline float exp_f32(float x) {
  if (x < kExpLowest) return 0;
  x = x > kExpHighest ? kExpHighest : x;
  const float power = std::nearbyint(x * kLog2E);
  const float rest = std::fma(power, kMinusLn2Low, std::fma(power, kMinusLn2High, x));
  float sum = kExpPolynomial[0];
  for (int i = 1; i < 6; ++i) sum = std::fma(sum, rest, kExpPolynomial[i]);
  const float fraction = std::fma(sum, rest * rest, rest) + 1.0f;
  if (std::isnan(x)) return x;
  return fraction * std::bit_cast<float>((static_cast<int32_t>(power) + 127) << 23);
}

// tanh of x: an odd polynomial below 0.625 (coefficients: Cephes, tanhf), 1 - 2 / (exp(2 |x|) + 1) beyond.
inline constexpr float kTanhPolynomial[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                                            1.33314422036e-1f, -3.33332819422e-1f};
inline constexpr float kTanhSmall = 0.625f;

inline float tanh_f32(float x) {
  const float size = std::fabs(x), square = size * size, sign = x < 0 ? -1.0f : 1.0f;
  if (!(size < kTanhSmall)) return (1.0f - 2.0f / (exp_f32(size * 2.0f) + 1.0f)) * sign;
  float sum = kTanhPolynomial[0];
  for (int i = 1; i < 5; ++i) sum = std::fma(sum, square, kTanhPolynomial[i]);
  return std::fma(sum * square, size, size) * sign;
}

}  // namespace seekrl::kernels
