// Blocks that come again: where they lie, and what of them goes back to the system.
#include "base/arena.h"

#include <cstddef>
#include <cstring>

#include "check.h"

namespace {

constexpr size_t kBlock = size_t{1} << 20;

// A block of ones that is free again; its address.
void* freed_block(seekrl::Arena& arena) {
  void* const block = arena.allocate(kBlock);
  std::memset(block, 1, kBlock);
  arena.free(block);
  return block;
}

}  // namespace

TEST("an arena's free memory is zero after it was given back, and kept where little was in use") {
  seekrl::Arena arena(4 * kBlock);
  void* const block = freed_block(arena);
  arena.release(2 * kBlock);
  EXPECT(arena.allocate(kBlock) == block);
  EXPECT(static_cast<const std::byte*>(block)[kBlock / 2] == std::byte{1});
  arena.free(block);
  arena.release(kBlock);
  EXPECT(arena.allocate(kBlock) == block);
  EXPECT(static_cast<const std::byte*>(block)[kBlock / 2] == std::byte{0});
}

TEST("blocks of an arena join again when they are free, and none is given beyond its end") {
  seekrl::Arena arena(4 * kBlock);
  void* const first = arena.allocate(2 * kBlock);
  void* const second = arena.allocate(2 * kBlock);
  EXPECT(arena.holds(first) && arena.holds(second) && arena.allocate(1) == nullptr);
  arena.free(first);
  arena.free(second);
  EXPECT(arena.allocate(4 * kBlock) == first);
}
