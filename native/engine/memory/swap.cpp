// Blocks lie apart in each layer: they are gathered on the GPU, and cross in one piece.
#include "engine/memory/swap.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>

#include "ops/gpu/transfer.h"

namespace seekrl::engine {

namespace {

// Of a piece: enough for a copy at full speed, little beside a cache.
constexpr int64_t kPieceBytes = int64_t{1} << 25;

int64_t piece_blocks(const BlockPool& pool) { return std::max<int64_t>(1, kPieceBytes / pool.block_bytes()); }

// Of the host: libtorch's pinned memory comes in powers of two.
int64_t host_bytes(const BlockPool& pool, int64_t num_blocks) {
  const auto bytes = [&](int64_t count) {
    return count == 0 ? 0 : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count * pool.block_bytes())));
  };
  const int64_t most = piece_blocks(pool);
  return num_blocks / most * bytes(most) + bytes(num_blocks % most);
}

at::Tensor on_gpu(const BlockPool& pool, const int32_t* blocks, int64_t count) {
  const std::vector<int64_t> numbers(blocks, blocks + count);
  const at::Tensor there = at::empty({count}, at::device(pool.storage().device()).dtype(at::kLong));
  ops::send(there, numbers.data());
  return there;
}

}  // namespace

std::shared_ptr<const SwappedBlocks> SwapSpace::swap_out(const BlockPool& pool,
                                                         const std::vector<int32_t>& blocks) const {
  const int64_t num_blocks = std::ssize(blocks), num_bytes = host_bytes(pool, num_blocks);
  if (num_blocks == 0 || pool.is_coded() || *used_bytes_ + num_bytes > room_bytes_) return nullptr;
  const auto swapped = std::make_shared<SwappedBlocks>(used_bytes_, num_bytes);
  try {
    for (int64_t first = 0; first < num_blocks; first += piece_blocks(pool)) {
      const int64_t count = std::min(piece_blocks(pool), num_blocks - first);
      const at::Tensor gathered = pool.storage().index_select(1, on_gpu(pool, &blocks[first], count));
      swapped->pieces_.push_back(ops::copy_to_host(gathered));
    }
  } catch (const c10::Error&) {  // of the GPU's memory or, a plain one, of the host's pinned memory
    return nullptr;
  }
  return swapped;
}

bool SwapSpace::swap_in(BlockPool& pool, const SwappedBlocks& swapped, const std::vector<int32_t>& blocks,
                        int64_t num_found) const {
  int64_t first = 0;
  try {
    for (const at::Tensor& piece : swapped.pieces_) {
      const int64_t end = std::min<int64_t>(first + piece.size(1), std::ssize(blocks)),
                    from = std::max(first, num_found);
      if (from < end) {
        const at::Tensor gathered = piece.to(pool.storage().device(), /*non_blocking=*/true);
        pool.storage().index_copy_(1, on_gpu(pool, &blocks[from], end - from),
                                   gathered.narrow(1, from - first, end - from));
      }
      first += piece.size(1);
    }
  } catch (const c10::OutOfMemoryError&) {
    return false;
  }
  return true;
}

}  // namespace seekrl::engine
