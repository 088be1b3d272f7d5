// Lists on the host, then one copy for each.
#include "ops/card/span_tables.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/attention/span.h"
#include "ops/card/transfer.h"

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

// The paths of all spans, each filled up to whole blocks, and the blocks of each.
struct PathBlocks {
  Integers tokens, table;
  int64_t width = 0;

  explicit PathBlocks(const Lists& paths) {
    const size_t num_spans = paths.start.size() - 1;
    const auto num_blocks = [&](size_t s) {
      return (paths.start[s + 1] - paths.start[s] + kPathBlock - 1) / kPathBlock;
    };
    for (size_t s = 0; s < num_spans; ++s) width = std::max(width, num_blocks(s));
    table.resize(num_spans * width);
    for (size_t s = 0; s < num_spans; ++s) {
      const int64_t first = std::ssize(tokens) / kPathBlock;
      std::iota(table.begin() + s * width, table.begin() + s * width + num_blocks(s), static_cast<int32_t>(first));
      tokens.insert(tokens.end(), paths.tokens.begin() + paths.start[s], paths.tokens.begin() + paths.start[s + 1]);
      tokens.resize((first + num_blocks(s)) * kPathBlock);
    }
  }
};

}  // namespace

SpanTables span_tables(const Spans& spans, int64_t num_groups, at::Device device) {
  const auto on_device = [&](const Integers& values) { return sent(values, device); };
  const Lists paths = paths_of(spans), viewers = viewers_of(spans);
  const PathBlocks blocks(paths);
  const std::vector<int64_t> places = positions(spans);
  return {.tiles = on_device(tiles_of(spans)).view({-1, 3}),
          .path = on_device(paths.tokens),
          .path_start_S = on_device(paths.start),
          .viewers = on_device(viewers.tokens),
          .viewers_start_S = on_device(viewers.start),
          .position_T = on_device(Integers(places.begin(), places.end())),
          .row_tiles = on_device(row_tiles_of(spans, num_groups)).view({-1, 4}),
          .block_tokens = on_device(blocks.tokens),
          .block_table = on_device(blocks.table).view({-1, blocks.width}),
          .max_keys = *std::max_element(places.begin(), places.end()) + 1};
}

}  // namespace seekrl::ops
