// Weights of a decoder in their files, all of them or any part, read when somebody needs them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "model/parameter.h"
#include "model/stored/stored_tensor.h"

namespace seekrl::model {

using IsIgnored = std::function<bool(const std::string&)>;
// Of a tensor, the name under which it may stand once more.
using CopiesByName = std::unordered_map<std::string, std::string>;

// Files stay mapped as long as it lives, and take no memory but what is read just now.
class StoredWeights {
 public:
  // ERR_FORMAT unless each of the tensors is there in its shape, of a type that may be converted to its own, and
  // nothing else is but what is ignored. A copy, where there is one, must have the same numbers.
  StoredWeights(const std::vector<Parameter>& tensors, const std::vector<StoredTensor>& stored,
                const IsIgnored& is_ignored, const CopiesByName& copies = {});

  bool has(const std::string& name) const { return places_.count(name) > 0; }
  // As many numbers as the value has, from `from` on, converted to its dtype; what is refused has been overwritten up
  // to there. ERR_RANGE for one that is not finite in that dtype; ERR_FORMAT where a copy has others.
  void read(const std::string& name, const at::Tensor& value, int64_t from = 0) const;
  // Throws as `read`, and leaves the value as it is.
  void check(const std::string& name, const at::Tensor& value, int64_t from = 0) const;

 private:
  struct Place {
    StoredTensor stored;
    std::shared_ptr<const MappedFile> file;
  };

  void check_copy(const std::string& name, const at::Tensor& value, int64_t from) const;

  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
  std::unordered_map<std::string, Place> places_;
  CopiesByName copies_;
};

}  // namespace seekrl::model
