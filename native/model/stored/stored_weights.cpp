// A place for each tensor, found once.
#include "model/stored/stored_weights.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "model/stored/stored_numbers.h"
#include "model/weights.h"

namespace seekrl::model {

namespace {

void check_names(const std::vector<Parameter>& tensors, const TensorsByName& by_name, const IsIgnored& is_ignored) {
  std::unordered_set<std::string> known;
  for (const Parameter& tensor : tensors) known.insert(tensor.name);
  for (const auto& [name, stored] : by_name) {
    require(known.count(name) > 0 || is_ignored(name), ErrorCode::kFormat, stored->path,
            ": holds a tensor that the model has not: ", name);
  }
}

}  // namespace

StoredWeights::StoredWeights(const std::vector<Parameter>& tensors, const std::vector<StoredTensor>& stored,
                             const IsIgnored& is_ignored, const CopiesByName& copies) {
  const TensorsByName found = by_name(stored);
  check_names(tensors, found, is_ignored);
  const auto add = [&](const std::string& name, const at::Tensor& value) {
    const StoredTensor& tensor = find_tensor(found, name, value.sizes());
    auto& file = files_[tensor.path];
    if (file == nullptr) file = std::make_shared<MappedFile>(tensor.path);
    check_place(tensor, *file, value);
    places_.insert({name, {tensor, file}});
  };
  for (const auto& [name, value] : tensors) {
    add(name, value);
    const auto copy = copies.find(name);
    if (copy == copies.end() || found.count(copy->second) == 0) continue;
    add(copy->second, value);
    copies_.insert(*copy);
  }
}

void StoredWeights::read(const std::string& name, const at::Tensor& value, int64_t from) const {
  const Place& place = places_.at(name);
  copy_numbers(place.stored, *place.file, value, from);
  check_copy(name, value, from);
}

void StoredWeights::check(const std::string& name, const at::Tensor& value, int64_t from) const {
  const Place& place = places_.at(name);
  check_numbers(place.stored, *place.file, value, from);
  if (copies_.count(name) == 0) return;
  constexpr int64_t kPiece = int64_t{1} << 20;
  const at::Tensor piece = at::empty({std::min(kPiece, value.numel())}, value.options().device(at::kCPU));
  for (int64_t first = 0; first < value.numel(); first += kPiece) {
    read(name, piece.narrow(0, 0, std::min(kPiece, value.numel() - first)), from + first);
  }
}

void StoredWeights::check_copy(const std::string& name, const at::Tensor& value, int64_t from) const {
  const auto copy = copies_.find(name);
  if (copy == copies_.end()) return;
  const Place& place = places_.at(copy->second);
  require(equals_numbers(place.stored, *place.file, value, from), ErrorCode::kFormat, place.stored.path, ": ",
          copy->second, " differs from ", name, ", but config.json ties them; set tie_word_embeddings to false");
}

}  // namespace seekrl::model
