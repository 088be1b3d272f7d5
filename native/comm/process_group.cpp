// c10d's backend, whose errors and endless waits become errors that name a rank.
#include "comm/process_group.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "base/error.h"
#include "comm/process_group_parts.h"

namespace seekrl::comm {

namespace {

using std::chrono::milliseconds;

bool is_done(c10d::Work& work, milliseconds most) {
  try {
    return work.wait(most);
  } catch (const c10::Error&) {
    if (work.isCompleted()) throw;
    return false;  // waited long enough
  }
}

// Gloo's own words end with advice.
std::string first_sentence(const std::string& message) { return message.substr(0, message.find(". ")); }

void check(const at::Tensor& tensor) { TORCH_INTERNAL_ASSERT(tensor.is_contiguous()); }

}  // namespace

std::string ProcessGroup::Parts::cause(const std::exception& error) const {
  if (const auto failure = watch->awaited_failure()) return *failure;
  std::string rank;
  try {
    rank = rank_in(error.what(), *store, place);
  } catch (const std::exception&) {
    rank = "";  // the store is gone too
  }
  return (rank.empty() ? "" : "the connection to " + rank + " broke: ") + first_sentence(error.what());
}

void Pending::Operation::wait_for_cpu() {
  try {
    while (!is_done(*work, kLook)) {
      if (const auto failure = parts->watch->failure()) fail(ErrorCode::kRemote, what, ": ", *failure);
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(ErrorCode::kRemote, what, ": ", parts->cause(error));
  }
}

void Pending::wait() {
  if (operation_ == nullptr) return;
  if (operation_->gpu_work == nullptr) {
    operation_->wait_for_cpu();
  } else {
    named(operation_->what, [&] { operation_->parts->gpus->wait(operation_->gpu_work); });
  }
  operation_.reset();
}

// All ranks come here at their first collective on a GPU.
nccl::Gpus& ProcessGroup::Parts::gpus_of(const at::Tensor& tensor) {
  if (gpus == nullptr) {
    nccl::UniqueId id{};
    if (place.rank == 0) {
      id = nccl::Gpus::unique_id(tensor.device());
      store->set("nccl", std::vector<uint8_t>(id.bytes, id.bytes + sizeof(id.bytes)));
    }
    while (!store->check({"nccl"})) {
      if (const auto failure = watch->failure()) fail(ErrorCode::kRemote, *failure);
      std::this_thread::sleep_for(kSoon);
    }
    const std::vector<uint8_t> told = store->get("nccl");
    std::copy_n(told.begin(), sizeof(id.bytes), id.bytes);
    gpus = std::make_unique<nccl::Gpus>(tensor.device(), place.rank, place.size, id,
                                        [watch = watch] { return watch->failure(); });
  }
  require(gpus->device() == tensor.device(), ErrorCode::kDevice, "process group: expected tensors on ", gpus->device(),
          ", got one on ", tensor.device());
  return *gpus;
}

Pending ProcessGroup::begun(c10::intrusive_ptr<c10d::Work> work, std::vector<at::Tensor> held, const char* what) const {
  using Operation = Pending::Operation;
  return Pending(std::make_shared<Operation>(Operation{parts_, what, std::move(work), nullptr, std::move(held)}));
}

// call: of the GPUs, which have `tensor`'s device.
template <class Call>
Pending ProcessGroup::begun_on_gpu(const at::Tensor& tensor, const char* what, Call call) const {
  return named(what, [&] {
    auto work = call(parts_->gpus_of(tensor));
    return Pending(
        std::make_shared<Pending::Operation>(Pending::Operation{parts_, what, nullptr, std::move(work), {}}));
  });
}

Pending ProcessGroup::all_reduce(const at::Tensor& tensor, const char* what) {
  check(tensor);
  if (parts_ == nullptr) return {};
  parts_->watch->note(what);
  if (!tensor.is_cpu()) return begun_on_gpu(tensor, what, [&](nccl::Gpus& gpus) { return gpus.all_reduce(tensor); });
  std::vector<at::Tensor> tensors{tensor};
  return begun(parts_->tensors->allreduce(tensors), tensors, what);
}

Pending ProcessGroup::reduce_scatter(const at::Tensor& own, const at::Tensor& all, const char* what) {
  check(own);
  check(all);
  if (parts_ != nullptr) parts_->watch->note(what);
  at::Tensor output = own, input = all;
  if (parts_ != nullptr && !own.is_cpu())
    return begun_on_gpu(own, what, [&](nccl::Gpus& gpus) { return gpus.reduce_scatter(own, all); });
  if (parts_ != nullptr) return begun(parts_->tensors->_reduce_scatter_base(output, input), {own, all}, what);
  if (!output.is_same(input)) output.copy_(input);
  return {};
}

Pending ProcessGroup::all_gather(const at::Tensor& all, const at::Tensor& own, const char* what) {
  check(own);
  check(all);
  if (parts_ != nullptr) parts_->watch->note(what);
  at::Tensor output = all, input = own;
  if (parts_ != nullptr && !own.is_cpu())
    return begun_on_gpu(own, what, [&](nccl::Gpus& gpus) { return gpus.all_gather(all, own); });
  if (parts_ != nullptr) return begun(parts_->tensors->_allgather_base(output, input), {all, own}, what);
  if (!output.is_same(input)) output.copy_(input);
  return {};
}

Pending ProcessGroup::broadcast(const at::Tensor& tensor, int root, const char* what) {
  if (parts_ != nullptr) parts_->watch->note(what);
  return hear(tensor, root, what);
}

Pending ProcessGroup::hear(const at::Tensor& tensor, int root, const char* what) {
  check(tensor);
  if (parts_ == nullptr) return {};
  if (!tensor.is_cpu())
    return begun_on_gpu(tensor, what, [&](nccl::Gpus& gpus) { return gpus.broadcast(tensor, root); });
  std::vector<at::Tensor> tensors{tensor};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  return begun(parts_->tensors->broadcast(tensors, options), tensors, what);
}

Pending ProcessGroup::all_to_all(const at::Tensor& to, const at::Tensor& from, const char* what) {
  check(to);
  check(from);
  if (parts_ != nullptr) parts_->watch->note(what);
  if (parts_ != nullptr && !to.is_cpu())
    return begun_on_gpu(to, what, [&](nccl::Gpus& gpus) { return gpus.all_to_all(to, from); });
  at::Tensor output = to, input = from;
  std::vector<int64_t> even;
  if (parts_ != nullptr) return begun(parts_->tensors->alltoall_base(output, input, even, even), {to, from}, what);
  if (!output.is_same(input)) output.copy_(input);
  return {};
}

void ProcessGroup::tree_reduce(const at::Tensor& tensor, const char* what) {
  check(tensor);
  require((place_.size & (place_.size - 1)) == 0, ErrorCode::kArgument, what,
          ": expected a number of ranks that is a power of two, got ", place_.size);
  if (parts_ == nullptr) return;
  parts_->watch->note(what);
  at::Tensor other = at::empty_like(tensor);
  for (int distance = 1; distance < place_.size; distance *= 2) {
    swap(tensor, other, place_.rank ^ distance, what);
    tensor.add_(other);  // two numbers have one sum, whichever stands first
  }
}

void ProcessGroup::swap(const at::Tensor& tensor, const at::Tensor& other, int partner, const char* what) const {
  if (!tensor.is_cpu())
    return begun_on_gpu(tensor, what, [&](nccl::Gpus& gpus) { return gpus.swap(tensor, other, partner); }).wait();
  std::vector<at::Tensor> sent{tensor}, received{other};
  const int tag = place_.rank ^ partner;
  Pending sending = begun(parts_->tensors->send(sent, partner, tag), sent, what);
  begun(parts_->tensors->recv(received, partner, tag), received, what).wait();
  sending.wait();
}

}  // namespace seekrl::comm
