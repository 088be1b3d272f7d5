// Ranges are parsed out of names, and compared.
#include "train/zero/stored_pieces.h"

#include <ATen/core/Tensor.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <unordered_set>

#include "base/error.h"
#include "kernels/adamw.h"
#include "model/stored/stored_numbers.h"

namespace seekrl::train {

namespace {

struct Named {
  std::string base;
  int64_t first = 0;  // in elements of the tensor, of which scales have one for each block
  bool is_range = false;
};

Named parse(const std::string& name) {
  const size_t open = name.rfind('['), close = name.rfind(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return {name, 0, false};
  Named named = {name.substr(0, open) + name.substr(close + 1), std::atoll(name.c_str() + open + 1), true};
  const bool is_scale = named.base.size() > 6 && named.base.compare(named.base.size() - 6, 6, ".scale") == 0;
  if (is_scale) named.first /= kernels::kMomentBlock;
  return named;
}

struct Range {
  int64_t first, end;
  const model::StoredTensor* stored;
};

int64_t count_of(const model::StoredTensor& stored) { return c10::multiply_integers(stored.shape); }

std::map<std::string, std::vector<Range>> ranges_of(const std::vector<model::StoredTensor>& stored,
                                                    const std::vector<std::string>& known) {
  const std::unordered_set<std::string> names(known.begin(), known.end());
  std::map<std::string, std::vector<Range>> ranges;
  for (const model::StoredTensor& each : stored) {
    const Named named = parse(each.name);
    require(names.count(named.base) > 0, ErrorCode::kFormat, each.path,
            ": holds a tensor that the model has not: ", each.name);
    ranges[named.base].push_back({named.first, named.first + count_of(each), &each});
  }
  for (auto& [base, parts] : ranges) {
    std::sort(parts.begin(), parts.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
    for (size_t i = 1; i < parts.size(); ++i) {
      require(parts[i - 1].end <= parts[i].first, ErrorCode::kFormat, parts[i].stored->path, ": ", base,
              " stands in two files");
    }
  }
  return ranges;
}

// The elements [from, to) of what is stored, for those of `flat` from `place` on.
void add_part(StoredParts& parts, const std::string& base, const at::Tensor& flat, const Range& range, int64_t from,
              int64_t to, int64_t place) {
  const model::StoredTensor& stored = *range.stored;
  const std::string name = base + range_suffix(from, to);
  const auto size = static_cast<uint64_t>(c10::elementSize(model::scalar_type(stored.dtype, stored.name)));
  parts.tensors.push_back({name, flat.narrow(0, place, to - from)});
  parts.stored.push_back(
      {name, stored.dtype, {to - from}, stored.path, stored.offset + static_cast<uint64_t>(from - range.first) * size});
}

}  // namespace

std::string range_suffix(int64_t first, int64_t end) {
  std::ostringstream suffix;
  suffix << '[' << first << ':' << end << ']';
  return suffix.str();
}

StoredParts find_parts(const std::vector<model::Parameter>& tensors, const std::vector<model::StoredTensor>& stored,
                       const std::vector<std::string>& known) {
  const auto ranges = ranges_of(stored, known);
  const model::TensorsByName by_name = model::by_name(stored);
  StoredParts parts;
  for (const auto& [name, value] : tensors) {
    const auto same = by_name.find(name);
    if (same != by_name.end()) {
      parts.tensors.push_back({name, value});
      parts.stored.push_back(model::find_tensor(by_name, name, value.sizes()));
      continue;
    }
    const Named named = parse(name);
    const auto found = ranges.find(named.base);
    const at::Tensor flat = value.view({-1});
    const int64_t end = named.first + flat.numel();
    int64_t next = named.first;
    if (found != ranges.end()) {
      for (const Range& range : found->second) {
        const int64_t from = std::max(next, range.first), to = std::min(end, range.end);
        if (from != next || from >= to) continue;
        add_part(parts, named.base, flat, range, from, to, from - named.first);
        next = to;
      }
    }
    require(next == end, ErrorCode::kFormat, "weights: missing tensor ", named.base, ", elements ", next, " to ", end);
  }
  return parts;
}

}  // namespace seekrl::train
