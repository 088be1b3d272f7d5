#include "fixtures.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace seekrl::bench {

namespace {

int64_t bytes_of(const Output& output) {
  switch (output.kind) {
    case Kind::kByte: return output.count;
    case Kind::kBf16:
    case Kind::kF16: return output.count * 2;
    case Kind::kDouble: return output.count * 8;
    default: return output.count * 4;
  }
}

std::string file_of(const std::string& folder, const Case& of, const Output& output) {
  std::string name = of.name + "." + output.name;
  for (char& each : name) {
    if (each == ' ' || each == ',' || each == '/') each = '-';
  }
  return folder + "/" + name;
}

template <class Value>
Value value_at(const std::vector<uint8_t>& bytes, int64_t i) {
  Value value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

double half_of(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

}  // namespace

double number_at(const std::vector<uint8_t>& bytes, Kind kind, int64_t i) {
  switch (kind) {
    case Kind::kByte: return bytes[i];
    case Kind::kInt: return value_at<int32_t>(bytes, i);
    case Kind::kDouble: return value_at<double>(bytes, i);
    case Kind::kDrawn: return i % 3 == 0 ? value_at<int32_t>(bytes, i) : value_at<float>(bytes, i);
    case Kind::kFloat: return value_at<float>(bytes, i);
    case Kind::kF16: return half_of(value_at<uint16_t>(bytes, i));
    default: {
      const uint32_t bits = uint32_t{value_at<uint16_t>(bytes, i)} << 16;
      float value;
      std::memcpy(&value, &bits, 4);
      return value;
    }
  }
}

namespace {

// Of the root mean squares of the difference and of what is expected; what is no number is infinitely far.
double distance(const std::vector<uint8_t>& actual, const std::vector<uint8_t>& expected, const Output& output) {
  if (actual == expected) return 0;
  double error = 0, size = 0;
  for (int64_t i = 0; i < output.count; ++i) {
    const double a = number_at(actual, output.kind, i), e = number_at(expected, output.kind, i);
    // Nothing but the same token is near a token.
    if (output.kind == Kind::kDrawn && i % 3 == 0 && a != e) return INFINITY;
    if (output.kind == Kind::kDrawn && i % 3 == 0) continue;
    error += a == e ? 0 : (a - e) * (a - e);
    size += std::isinf(e) ? 0 : e * e;
  }
  return std::isnan(error) || (size == 0 && error > 0) ? INFINITY : std::sqrt(error / std::max(size, 1e-300));
}

// The first number that is further from what is expected than all may be in the mean: " first wrong: [i] a, expected
// e".
std::string first_wrong(const std::vector<uint8_t>& actual, const std::vector<uint8_t>& expected,
                        const Output& output) {
  double squares = 0;
  for (int64_t i = 0; i < output.count; ++i) {
    const double e = number_at(expected, output.kind, i);
    squares += std::isfinite(e) ? e * e : 0;
  }
  const double bound = output.tolerance * std::sqrt(squares / static_cast<double>(output.count));
  for (int64_t i = 0; i < output.count; ++i) {
    const double a = number_at(actual, output.kind, i), e = number_at(expected, output.kind, i);
    if (a == e || std::fabs(a - e) <= bound) continue;
    char text[96];
    std::snprintf(text, sizeof text, "; first wrong: [%lld] %g, expected %g", static_cast<long long>(i), a, e);
    return text;
  }
  return "";
}

}  // namespace

void write_outputs(const std::string& folder, const Case& of, const Prepared& prepared) {
  for (const Output& output : prepared.outputs) {
    const std::vector<uint8_t> bytes = read_back(output.data, bytes_of(output));
    double sum = 0;
    for (int64_t i = 0; i < output.count; ++i) sum += std::fabs(number_at(bytes, output.kind, i));
    if (std::isnan(sum)) throw DeviceError(of.name + ", " + output.name + ": not a number");
    const std::string file = file_of(folder, of, output);
    std::ofstream to(file, std::ios::binary);
    to.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!to) throw DeviceError(file + ": cannot be written");
  }
}

bool check_outputs(const std::string& folder, const Case& of, const Prepared& prepared) {
  bool is_good = true;
  for (const Output& output : prepared.outputs) {
    std::ifstream from(file_of(folder, of, output), std::ios::binary);
    const std::vector<uint8_t> expected{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
    const std::vector<uint8_t> actual = read_back(output.data, bytes_of(output));
    const bool is_there = from && expected.size() == actual.size();
    const double error = is_there ? distance(actual, expected, output) : INFINITY;
    const bool is_near = error <= output.tolerance;
    is_good = is_good && is_near;
    const std::string where = is_near || !is_there ? "" : first_wrong(actual, expected, output);
    std::printf("%s - %s, %s: %s%.1e of %.0e%s\n", is_near ? "ok" : "not ok", of.name.c_str(), output.name.c_str(),
                is_there ? "" : "no fixture, ", error, output.tolerance, where.c_str());
    std::fflush(stdout);
  }
  return is_good;
}

}  // namespace seekrl::bench
