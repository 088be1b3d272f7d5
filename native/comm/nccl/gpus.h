// Collectives between GPUs, one a rank: NCCL's, on a stream beside the one that computes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/nccl/library.h"

namespace seekrl::comm::nccl {

// Tensors are contiguous and on the one device. A collective begins when the current stream has come so far, in the
// order of the calls. Nothing but `abort` ends one that a rank is missing from, so a thread looks after it.
class Gpus {
 public:
  // Why the job cannot go on, if it cannot.
  using Failure = std::function<std::optional<std::string>()>;

  // id: rank 0's `unique_id`, on all ranks. Returns once all have come.
  Gpus(at::Device device, int rank, int size, const UniqueId& id, Failure failure);
  ~Gpus();
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  static UniqueId unique_id(at::Device device);

  at::Device device() const { return device_; }

  // Is over when the event is.
  using Work = std::shared_ptr<c10::Event>;
  Work all_reduce(const at::Tensor& tensor);
  Work reduce_scatter(const at::Tensor& own, const at::Tensor& all);
  Work all_gather(const at::Tensor& all, const at::Tensor& own);
  Work broadcast(const at::Tensor& tensor, int root);
  // Part r of `from` goes to rank r.
  Work all_to_all(const at::Tensor& to, const at::Tensor& from);
  // Sends and receives at once.
  Work swap(const at::Tensor& sent, const at::Tensor& received, int peer);

  // The current stream goes on after the work; the host does not wait. ERR_REMOTE naming who is gone, or ERR_DEVICE
  // with NCCL's words, once that is known: what the work has written is then worth nothing.
  void wait(const Work& work) const;
  // The same error, without waiting.
  void require_whole() const;
  // Once all that has begun is over.
  void finish() const;

 private:
  struct State;
  template <class Call>
  Work begun(const std::vector<at::Tensor>& tensors, Call call);
  Work exchange(const at::Tensor& to, const at::Tensor& from, const std::vector<int>& peers);

  const at::Device device_;
  const int size_;
  const Library& library_;
  const c10::Stream moving_;
  Work last_;
  std::shared_ptr<State> state_;
  std::thread guard_;
};

}  // namespace seekrl::comm::nccl
