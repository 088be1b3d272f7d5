// Lists on the host, then one copy for each.
#include "ops/gpu/span_tables.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/attention/span.h"
#include "ops/gpu/transfer.h"

namespace seekrl::ops {

namespace {

using Integers = std::vector<int32_t>;

// Lists of token numbers one behind the other, and where each begins.
struct Lists {
  Integers tokens, start = {0};

  void add(int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(first + i));
  }
  void end() { start.push_back(static_cast<int32_t>(tokens.size())); }
};

Integers tiles_of(const Spans& spans) {
  Integers tiles;
  for (int64_t span = 0; span < spans.count(); ++span) {
    for (int64_t first = spans.starts[span]; first < spans.starts[span + 1]; first += cuda::kSpanTileRows) {
      const int64_t count = std::min<int64_t>(cuda::kSpanTileRows, spans.starts[span + 1] - first);
      for (const int64_t each : {span, first, count}) tiles.push_back(static_cast<int32_t>(each));
    }
  }
  return tiles;
}

Lists paths_of(const Spans& spans) {
  Lists paths;
  for (int64_t span = 0; span < spans.count(); ++span) {
    for (const auto& [start, length] : path(spans, span)) paths.add(start, length);
    paths.end();
  }
  return paths;
}

// A span's own tokens, then those of all that continue it, which stand behind it in the batch.
Lists viewers_of(const Spans& spans) {
  std::vector<std::vector<int64_t>> continued(spans.count());
  for (int64_t span = 0; span < spans.count(); ++span) {
    for (int64_t at = span; at >= 0; at = spans.parent(at)) continued[at].push_back(span);
  }
  Lists viewers;
  for (const std::vector<int64_t>& each : continued) {
    for (const int64_t span : each) viewers.add(spans.starts[span], spans.length(span));
    viewers.end();
  }
  return viewers;
}

Integers row_tiles_of(const Spans& spans, int64_t num_groups) {
  const int64_t num_positions = std::max<int64_t>(1, cuda::kPrefillRows / num_groups);
  const std::vector<int64_t> before = depths(spans);
  Integers tiles;
  for (int64_t span = 0; span < spans.count(); ++span) {
    for (int64_t first = 0; first < spans.length(span); first += num_positions) {
      const int64_t count = std::min(num_positions, spans.length(span) - first);
      for (const int64_t each : {span, spans.starts[span] + first, count, before[span] + first + 1}) {
        tiles.push_back(static_cast<int32_t>(each));
      }
    }
  }
  return tiles;
}

// The blocks of each span's path, and the tokens in them: behind the blocks that its parent's path fills, its own.
struct PathBlocks {
  Integers tokens, table;
  int64_t width = 0;

  PathBlocks(const Spans& spans, const Lists& paths) {
    const auto length = [&](int64_t s) -> int64_t { return paths.start[s + 1] - paths.start[s]; };
    for (int64_t s = 0; s < spans.count(); ++s) width = std::max(width, (length(s) + kPathBlock - 1) / kPathBlock);
    table.resize(spans.count() * width);
    for (int64_t s = 0; s < spans.count(); ++s) {
      const int64_t parent = spans.parent(s), shared = parent < 0 ? 0 : length(parent) / kPathBlock;
      const auto own = table.begin() + s * width;
      if (shared > 0) std::copy_n(table.begin() + parent * width, shared, own);
      const int64_t first = std::ssize(tokens) / kPathBlock;
      const int64_t count = (length(s) + kPathBlock - 1) / kPathBlock - shared;
      std::iota(own + shared, own + shared + count, static_cast<int32_t>(first));
      const auto path = paths.tokens.begin() + paths.start[s];
      tokens.insert(tokens.end(), path + shared * kPathBlock, path + length(s));
      tokens.resize((first + count) * kPathBlock);
    }
  }

  Integers heads(int64_t num_kv_heads) const {
    Integers all;
    for (auto block = tokens.begin(); block != tokens.end(); block += kPathBlock) {
      for (int64_t head = 0; head < num_kv_heads; ++head) {
        for (int64_t i = 0; i < kPathBlock; ++i) all.push_back(static_cast<int32_t>(block[i] * num_kv_heads + head));
      }
    }
    return all;
  }
};

}  // namespace

SpanTables span_tables(const Spans& spans, int64_t num_heads, int64_t num_kv_heads, at::Device device) {
  const auto on_device = [&](const Integers& values) { return copy_to_gpu(values, device); };
  const Lists paths = paths_of(spans), viewers = viewers_of(spans);
  const PathBlocks blocks(spans, paths);
  const std::vector<int64_t> places = positions(spans);
  return {.tiles = on_device(tiles_of(spans)).view({-1, 3}),
          .path = on_device(paths.tokens),
          .path_start_S = on_device(paths.start),
          .viewers = on_device(viewers.tokens),
          .viewers_start_S = on_device(viewers.start),
          .position_T = on_device(Integers(places.begin(), places.end())),
          .row_tiles = on_device(row_tiles_of(spans, num_heads / num_kv_heads)).view({-1, 4}),
          .block_heads = on_device(blocks.heads(num_kv_heads)),
          .block_table = on_device(blocks.table).view({-1, blocks.width}),
          .max_keys = *std::max_element(places.begin(), places.end()) + 1};
}

}  // namespace seekrl::ops
