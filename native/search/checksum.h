// A fast 64-bit checksum that notices any damaged byte, and a hash of short strings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace seekrl::search {

// Every step is a bijection of the state, so one changed word always changes the result. Not for adversaries.
class Checksum {
 public:
  void add(const void* data, size_t num_bytes);
  uint64_t value() const;

 private:
  static constexpr size_t kBlockBytes = 32;
  void add_block(const std::byte* block);

  std::array<uint64_t, 4> lanes_ = {1, 2, 3, 4};
  std::array<std::byte, kBlockBytes> tail_ = {};
  size_t num_tail_ = 0;
  uint64_t num_bytes_ = 0;
};

// Spreads the bits of `x` over all 64.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

// FNV-1a with a final mix; byte by byte, so that longer strings go on from shorter ones.
class StringHash {
 public:
  constexpr explicit StringHash(uint64_t seed = 0) : state_(0xcbf29ce484222325u ^ seed) {}
  constexpr void add(char c) { state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u; }
  constexpr uint64_t value() const { return mix(state_); }

 private:
  uint64_t state_;
};

constexpr uint64_t hash_string(std::string_view text, uint64_t seed = 0) {
  StringHash hash(seed);
  for (const char c : text) hash.add(c);
  return hash.value();
}

}  // namespace seekrl::search
