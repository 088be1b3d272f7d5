// One list of holders for the process: work of both kinds shares one memory.
#include "base/idle_memory.h"

#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>

namespace seekrl {

namespace {

struct Holders {
  std::mutex mutex;
  std::unordered_set<IdleMemory*> all;
  std::optional<Work> current;
};

// Never destroyed: holders may outlive every static.
Holders& holders() {
  static auto* const all = new Holders;
  return *all;
}

}  // namespace

IdleMemory::IdleMemory(Work work, std::function<void()> release) : work_(work), release_(std::move(release)) {
  const std::scoped_lock lock(holders().mutex);
  holders().all.insert(this);
}

IdleMemory::~IdleMemory() {
  const std::scoped_lock lock(holders().mutex);
  holders().all.erase(this);
}

void enter(Work work) {
  const std::scoped_lock lock(holders().mutex);
  if (holders().current == work) return;
  holders().current = work;
  for (const IdleMemory* holder : holders().all) {
    if (holder->work_ != work) holder->release_();
  }
}

}  // namespace seekrl
