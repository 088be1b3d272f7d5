// Subtrees of up to 2^kLeafLevel blocks are items of work; the rest is a map that is folded level by level.
#include "train/zero/square_sums.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "kernels/adamw.h"
#include "ops/parallel.h"

namespace seekrl::train {

namespace {

constexpr int64_t kLanes = 8;
constexpr int kLeafLevel = 8;

// Blocks [index << level, (index + 1) << level).
using Place = std::pair<int, int64_t>;
using Sums = std::map<Place, double>;

struct Item {
  Place place;
  const float* values;
};

std::vector<Item> items_of(const std::vector<BlockRun>& runs) {
  std::vector<Item> items;
  for (const auto& [values, first_block, num_blocks] : runs) {
    const int64_t end = first_block + num_blocks;
    for (int64_t block = first_block; block < end;) {
      int level = 0;
      while (level < kLeafLevel && block % (int64_t{2} << level) == 0 && block + (int64_t{2} << level) <= end) ++level;
      items.push_back({{level, block >> level}, values + (block - first_block) * kernels::kMomentBlock});
      block += int64_t{1} << level;
    }
  }
  return items;
}

double block_sum(const float* x) {
  double sums[kLanes] = {};
  for (int64_t i = 0; i < kernels::kMomentBlock; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += static_cast<double>(x[i + lane]) * x[i + lane];
  }
  return std::accumulate(sums, sums + kLanes, 0.0);
}

double tree_sum(const float* x, int level) {
  if (level == 0) return block_sum(x);
  return tree_sum(x, level - 1) + tree_sum(x + (kernels::kMomentBlock << (level - 1)), level - 1);
}

// Adds neighbours; with `is_all` a place that has none stands for both.
Sums folded(Sums sums, bool is_all) {
  Sums rest;
  while (!sums.empty()) {
    const auto [place, sum] = *sums.begin();
    sums.erase(sums.begin());
    const auto [level, index] = place;
    const bool is_left = index % 2 == 0;
    const auto next = sums.find({level, index + 1});
    const bool has_pair = is_left && next != sums.end();
    if (!has_pair && (!is_all || sums.empty())) {
      rest.emplace(place, sum);
      continue;
    }
    sums.emplace(Place{level + 1, index / 2}, has_pair ? sum + next->second : sum);
    if (has_pair) sums.erase(next);
  }
  return rest;
}

Sums exchanged(const Sums& own, comm::ProcessGroup& group) {
  const auto doubles = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor count = at::full({1}, static_cast<double>(own.size()), doubles);
  const at::Tensor counts = at::empty({group.size()}, doubles);
  group.all_gather(counts, count, "all-gather of the gradient's norm").wait();
  const int64_t most = static_cast<int64_t>(counts.max().item<double>());
  const at::Tensor sent = at::zeros({most * 3}, doubles), all = at::empty({group.size() * most * 3}, doubles);
  double* to = sent.mutable_data_ptr<double>();
  for (const auto& [place, sum] : own) {
    to = std::copy_n(std::vector{double(place.first), double(place.second), sum}.begin(), 3, to);
  }
  group.all_gather(all, sent, "all-gather of the gradient's norm").wait();
  Sums sums;
  for (int rank = 0; rank < group.size(); ++rank) {
    const double* from = all.const_data_ptr<double>() + rank * most * 3;
    const auto size = static_cast<int64_t>(counts.const_data_ptr<double>()[rank]);
    for (int64_t i = 0; i < size; ++i, from += 3) {
      sums.emplace(Place{static_cast<int>(from[0]), static_cast<int64_t>(from[1])}, from[2]);
    }
  }
  return sums;
}

}  // namespace

double square_sum(const std::vector<BlockRun>& own, comm::ProcessGroup* group) {
  const std::vector<Item> items = items_of(own);
  std::vector<double> values(items.size());
  ops::claim_items(std::ssize(items), std::ssize(items) * (kernels::kMomentBlock << kLeafLevel),
                   [&](int64_t i) { values[i] = tree_sum(items[i].values, items[i].place.first); });
  Sums sums;
  for (size_t i = 0; i < items.size(); ++i) sums.emplace(items[i].place, values[i]);
  sums = folded(std::move(sums), false);
  if (group != nullptr) sums = exchanged(sums, *group);
  const Sums root = folded(std::move(sums), true);
  return root.empty() ? 0.0 : root.begin()->second;
}

}  // namespace seekrl::train
