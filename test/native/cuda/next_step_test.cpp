// What the GPU makes of a step's draws for the step after it.
#include "kernels/cuda/sampling/next_step.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

constexpr int32_t kBlockTokens = 16, kStride = 4;

// Rows of a batch before a step; row s has 14 + s % 6 tokens, of which the last is the input.
struct Batch {
  explicit Batch(int32_t num_rows) {
    for (int32_t s = 0; s < num_rows; ++s) {
      const int32_t n = 14 + s % 6;
      ids.push_back(1000 + s);
      positions.push_back(n - 1);
      num_tokens.push_back(n);
      slots.push_back(s);
      tiles.push_back({num_rows - 1 - s, s, 1, n});
      drawn.push_back({s, -1.5f, 0});
      limits.push_back(kStride * kBlockTokens);
    }
    for (int32_t i = 0; i < num_rows * kStride; ++i) block_table.push_back(3 * i + 1);
  }
  void step() {
    EXPECT(next_step({ids.data(), positions.data(), num_tokens.data(), slots.data(), tiles.data(), drawn.data(),
                      block_table.data(), limits.data(), std::ssize(ids), kStride, kBlockTokens},
                     nullptr) == nullptr);
  }
  std::vector<int32_t> ids, positions, num_tokens, slots, limits, block_table;
  std::vector<AttentionTile> tiles;
  std::vector<DrawnToken> drawn;
};

void check_ended(const Batch& batch, int32_t s) {
  const Batch before(static_cast<int32_t>(batch.ids.size()));
  EXPECT(batch.slots[s] == -1);
  EXPECT(batch.tiles[s].num_keys == 1);
  EXPECT(batch.ids[s] == before.ids[s]);
  EXPECT(batch.positions[s] == before.positions[s]);
  EXPECT(batch.num_tokens[s] == before.num_tokens[s]);
}

void check_advanced(const Batch& batch, int32_t s) {
  const auto num_rows = static_cast<int32_t>(batch.ids.size());
  const Batch before(num_rows);
  const int32_t position = before.positions[s] + 1;
  EXPECT(batch.ids[s] == s);
  EXPECT(batch.positions[s] == position);
  EXPECT(batch.num_tokens[s] == position + 1);
  EXPECT(batch.tiles[s].num_keys == position + 1);
  EXPECT(batch.tiles[s].sequence == num_rows - 1 - s && batch.tiles[s].first_row == s);
  const int32_t block = 3 * ((num_rows - 1 - s) * kStride + position / kBlockTokens) + 1;
  EXPECT(batch.slots[s] == block * kBlockTokens + position % kBlockTokens);
}

}  // namespace

TEST("a drawn token becomes the next input at the next place of its sequence's blocks") {
  with_each_order([] {
    Batch batch(301);
    batch.step();
    for (int32_t s = 0; s < 301; ++s) check_advanced(batch, s);
  });
}

TEST("rows end when they are full and when nothing could be drawn, and stay ended") {
  Batch batch(12);
  batch.limits[7] = batch.num_tokens[7] + 1;
  batch.limits[8] = batch.num_tokens[8] + 2;
  batch.drawn[9].token = -1;
  batch.drawn[10].logprob = NAN;
  batch.step();
  for (int again = 0; again < 2; ++again) {
    check_ended(batch, 7);
    check_ended(batch, 9);
    check_ended(batch, 10);
    if (again == 0) {
      check_advanced(batch, 8);
      check_advanced(batch, 11);
      batch.step();
    }
  }
  EXPECT(batch.slots[8] == -1 && batch.slots[11] >= 0);
}

TEST("words are edited where they are said, and no others") {
  with_each_order([] {
    std::vector<int32_t> words(900, 7);
    std::vector<WordEdit> edits;
    for (int32_t i = 0; i < 300; ++i) edits.push_back({i * 3 % 900, i});
    EXPECT(edit_words(words.data(), edits.data(), std::ssize(edits), nullptr) == nullptr);
    for (int32_t i = 0; i < 900; ++i) EXPECT(words[i] == (i % 3 == 0 ? i / 3 : 7));
  });
}
