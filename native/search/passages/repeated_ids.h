// Finds ids that passages share: within an index folder every id stands for one passage.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "search/passages/passage_store.h"

namespace seekrl::search {

// A store without some of its passages.
struct LivePassages {
  std::shared_ptr<const PassageStore> store;
  std::vector<int64_t> removed;  // ascending
};

// Ids that stand more than once in all of `parts` together: at most `limit`, each once. 8 bytes of memory a passage.
std::vector<std::string> repeated_ids(const std::vector<LivePassages>& parts, size_t limit);

}  // namespace seekrl::search
