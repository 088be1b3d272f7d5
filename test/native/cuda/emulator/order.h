// In which order the threads of a block run: one at a time, each until it waits.
//
// 0: warp by warp, each as far as it can, lanes in order. Else the number makes an order at random, another in each
// block and after each of its barriers: even ones of warps, each as far as it can, and of lanes within them; odd ones
// of all threads, so that warps go on side by side. On a GPU both happen, and lanes of a warp need not go on together
// either.
#pragma once

#include <algorithm>

#include "threads.h"

namespace seekrl::emulator {

// Xorshift, and a number below `count`.
SEEKRL_OWN_BUSINESS inline int draw(uint64_t& state, int count) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<int>(state % static_cast<uint64_t>(count));
}

SEEKRL_OWN_BUSINESS inline void swap_places(Block& b, int i, int j) {
  Thread* const one = b.queue[i];
  b.queue[i] = b.queue[j];
  b.queue[j] = one;
}

SEEKRL_OWN_BUSINESS inline void number_places(Block& b) {
  for (int i = 0; i < b.num_threads; ++i) b.queue[i]->place = i;
}

SEEKRL_OWN_BUSINESS inline void shuffle_places(Block& b, int first, int count) {
  for (int i = count; i > 1; --i) swap_places(b, first + i - 1, first + draw(b.random, i));
}

// Puts warps that have as many threads in another order, by exchanging their places.
SEEKRL_OWN_BUSINESS inline void shuffle_warps(Block& b) {
  Warp* const warps = b.warps_data;
  for (int i = b.num_whole_warps; i > 1; --i) {
    Warp &one = warps[i - 1], &other = warps[draw(b.random, i)];
    for (int lane = 0; lane < 32; ++lane) swap_places(b, one.first_place + lane, other.first_place + lane);
    const int place = one.first_place;
    one.first_place = other.first_place;
    other.first_place = place;
  }
}

SEEKRL_OWN_BUSINESS inline void reorder(Block& b) {
  if (b.order_seed == 0) return;
  if (b.order_seed % 2 == 1) {
    shuffle_places(b, 0, b.num_threads);
  } else {
    shuffle_warps(b);
    for (int w = 0; w < b.num_warps; ++w) shuffle_places(b, b.warps_data[w].first_place, b.warps_data[w].num_threads);
  }
  number_places(b);
}

// Of a block that begins.
inline void order_threads(Block& b) {
  b.queue = b.order.data();
  b.warps_data = b.warps.data();
  b.num_threads = static_cast<int>(b.threads.size());
  b.num_warps = static_cast<int>(b.warps.size());
  b.num_whole_warps = b.num_threads / 32;
  for (int i = 0; i < b.num_threads; ++i) b.order[i] = b.threads[i].get();
  for (int w = 0; w < b.num_warps; ++w) {
    b.warps[w].first_place = w * 32;
    b.warps[w].num_threads = std::min(32, b.num_threads - w * 32);
  }
  b.order_seed = thread_order;
  b.random = b.order_seed * 0x9E3779B97F4A7C15u + b.index.x * 7919 + b.index.y * 104729 + b.index.z + 1;
  number_places(b);
  reorder(b);
}

// The block that runs at a turn of a launch: blocks are in no order on a GPU, so that those of an odd number begin with
// the last, of an even one in the middle.
inline int64_t block_of_turn(int64_t turn, int64_t count) {
  if (thread_order == 0) return turn;
  return thread_order % 2 == 1 ? count - 1 - turn : (turn + count / 2) % count;
}

}  // namespace seekrl::emulator
