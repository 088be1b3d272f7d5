// What ranks know of one another: bytes over Gloo, counters in the store, and whether what GPUs have computed counts.
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>

#include <utility>

#include "base/error.h"
#include "comm/process_group_parts.h"

namespace seekrl::comm {

namespace {

at::Tensor bytes_of(ProcessGroup::Message& message) {
  return at::from_blob(message.data(), {static_cast<int64_t>(message.size())}, at::kByte);
}

}  // namespace

void ProcessGroup::require_whole(const char* what) const {
  if (parts_ == nullptr || parts_->gpus == nullptr) return;
  named(what, [&] { parts_->gpus->require_whole(); });
}

void ProcessGroup::finish(const char* what) const {
  if (parts_ == nullptr || parts_->gpus == nullptr) return;
  named(what, [&] { parts_->gpus->finish(); });
}

// Of the messages of all ranks.
std::vector<int64_t> ProcessGroup::lengths_of(const Message& own, const char* what) const {
  const auto longs = at::TensorOptions().dtype(at::kLong);
  at::Tensor length = at::full({1}, static_cast<int64_t>(own.size()), longs);
  at::Tensor lengths = at::empty({place_.size}, longs);
  begun(parts_->messages->_allgather_base(lengths, length), {lengths, length}, what).wait();
  const auto* values = lengths.const_data_ptr<int64_t>();
  return {values, values + place_.size};
}

std::vector<ProcessGroup::Message> ProcessGroup::exchange(const Message& own, const char* what) {
  if (parts_ == nullptr) return {own};
  parts_->watch->note(what);
  const std::vector<int64_t> lengths = lengths_of(own, what);
  std::vector<Message> messages(place_.size);
  std::vector<Pending> pending;
  for (int rank = 0; rank < place_.size; ++rank) {
    Message& message = messages[rank];
    message = rank == place_.rank ? own : Message(lengths[rank]);
    if (message.empty()) continue;
    std::vector<at::Tensor> bytes{bytes_of(message)};
    c10d::BroadcastOptions options;
    options.rootRank = rank;
    pending.push_back(begun(parts_->messages->broadcast(bytes, options), bytes, what));
  }
  for (Pending& each : pending) each.wait();
  return messages;
}

std::vector<ProcessGroup::Message> ProcessGroup::gather(const Message& own, int root, const char* what) {
  if (parts_ == nullptr) return {own};
  parts_->watch->note(what);
  const std::vector<int64_t> lengths = lengths_of(own, what);
  std::vector<Message> messages(place_.size);
  messages[place_.rank] = own;
  std::vector<Pending> pending;
  for (int rank = 0; rank < place_.size; ++rank) {
    const bool is_sender = rank == place_.rank, is_root = place_.rank == root;
    if (rank == root || lengths[rank] == 0 || !(is_sender || is_root)) continue;
    if (is_root) messages[rank].resize(lengths[rank]);
    std::vector<at::Tensor> bytes{bytes_of(messages[rank])};
    auto work = is_root ? parts_->messages->recv(bytes, rank, rank) : parts_->messages->send(bytes, root, rank);
    pending.push_back(begun(std::move(work), bytes, what));
  }
  for (Pending& each : pending) each.wait();
  return messages;
}

ProcessGroup::Message ProcessGroup::broadcast(const Message& message, int root, const char* what) {
  return exchange(place_.rank == root ? message : Message(), what)[root];
}

}  // namespace seekrl::comm
