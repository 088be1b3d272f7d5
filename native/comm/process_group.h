// The processes of one job and their collectives: Gloo of c10d on the CPU, NCCL on
// GPUs, rendezvous by c10d's TCPStore.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/place.h"

namespace c10d {
class Work;
}  // namespace c10d

namespace seekrl::comm {

// A collective under way. Its tensors must not be touched before `wait` has returned; a copy is the same collective.
// On a GPU, what the current stream is given after `wait` comes after the collective, and the host waits for nothing.
class Pending {
 public:
  Pending() = default;  // of one process: done

  // ERR_REMOTE naming the operation and the rank that is gone.
  void wait();

 private:
  friend class ProcessGroup;
  struct Operation;
  explicit Pending(std::shared_ptr<Operation> operation) : operation_(std::move(operation)) {}

  std::shared_ptr<Operation> operation_;
};

// Collectives begin when they are called, run on threads of their own in that order, and are called in one order by all
// ranks. Tensors are contiguous, on the CPU or on this rank's one GPU; `what` says in errors what was done. There are
// two lines of collectives that do not wait for each other: tensors, called on the device thread, and messages.
class ProcessGroup {
 public:
  using Message = std::vector<uint8_t>;

  // Returns once all ranks have come. ERR_REMOTE naming those that have not; ERR_ABORTED soon after it was cancelled.
  explicit ProcessGroup(const Place& place, const std::atomic<bool>& is_cancelled = kNever);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }

  // Sums, in place.
  Pending all_reduce(const at::Tensor& tensor, const char* what);
  // own: a size-th part of all, which is summed over ranks; that of this rank's place.
  Pending reduce_scatter(const at::Tensor& own, const at::Tensor& all, const char* what);
  Pending all_gather(const at::Tensor& all, const at::Tensor& own, const char* what);
  Pending broadcast(const at::Tensor& tensor, int root, const char* what);
  // As `broadcast`, for what others may wait for as long as the root has nothing to say: to wait is no stall.
  Pending hear(const at::Tensor& tensor, int root, const char* what);
  // Of each rank the part of `from` in this one's place, in the order of ranks.
  Pending all_to_all(const at::Tensor& to, const at::Tensor& from, const char* what);
  // Sums in place, in an order that does not depend on how many ranks share the work: neighbours first, then pairs of
  // them. ERR_ARGUMENT where the size is no power of two.
  void tree_reduce(const at::Tensor& tensor, const char* what);

  // To be called when the host has waited for a GPU, before it believes what it reads there: ERR_REMOTE or ERR_DEVICE
  // where a collective was aborted, whose numbers are worth nothing.
  void require_whole(const char* what) const;
  // The same, after the host has waited for all collectives on a GPU.
  void finish(const char* what) const;

  // Of each rank one message, in their order. Blocks; on a thread of the caller's.
  std::vector<Message> exchange(const Message& own, const char* what);
  Message broadcast(const Message& message, int root, const char* what);
  // As `exchange` for the root, which alone gets the messages of the others; they get an empty one of each.
  std::vector<Message> gather(const Message& own, int root, const char* what);

  // Adds one to a counter that all ranks share. Returns what it was before.
  int64_t count(const std::string& name);

  // Tells the others why this rank cannot go on.
  void report(const std::string& message);
  // Why the job cannot go on; empty while it can.
  std::string failure() const;

  // Ends every wait of this process with an error, and those of the others, unless all have left; from any thread.
  void cancel();

  // Waits until all ranks have left, or until one has failed and the others have read so where this one serves their
  // store.
  void leave();

 private:
  friend class Pending;
  struct Parts;
  static constexpr std::atomic<bool> kNever{false};

  Pending begun(c10::intrusive_ptr<c10d::Work> work, std::vector<at::Tensor> held, const char* what) const;
  template <class Call>
  Pending begun_on_gpu(const at::Tensor& tensor, const char* what, Call call) const;
  void swap(const at::Tensor& tensor, const at::Tensor& other, int partner, const char* what) const;
  void await_at(const char* point, int64_t number) const;
  std::vector<int64_t> lengths_of(const Message& own, const char* what) const;

  Place place_;
  std::shared_ptr<Parts> parts_;                     // null where one process is all there is
  std::unordered_map<std::string, int64_t> counts_;  // then
  std::atomic<bool> has_left_{false};
};

}  // namespace seekrl::comm
