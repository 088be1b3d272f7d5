// What a group of more than one rank is made of.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "base/error.h"
#include "comm/connections.h"
#include "comm/nccl/gpus.h"
#include "comm/process_group.h"
#include "comm/store.h"
#include "comm/watch.h"

namespace seekrl::comm {

// How often one who waits looks whether all are still there.
constexpr std::chrono::milliseconds kLook{200}, kSoon{10};

struct ProcessGroup::Parts {
  Connections connections;  // before all others, so that it knows theirs
  Place place;
  StorePointer store;
  std::shared_ptr<Watch> watch;
  c10::intrusive_ptr<c10d::Backend> tensors, messages;
  std::unique_ptr<nccl::Gpus> gpus;  // once a collective was on a GPU

  void connect();
  // What the store's counter is after `number` was added. ERR_REMOTE as soon as a rank is known to be gone.
  int64_t add(const std::string& key, int64_t number) const;
  nccl::Gpus& gpus_of(const at::Tensor& tensor);
  // Why an operation failed: who is gone, which becomes known a little after a connection broke; else whose it was.
  std::string cause(const std::exception& error) const;
};

struct Pending::Operation {
  std::shared_ptr<ProcessGroup::Parts> parts;
  std::string what;
  c10::intrusive_ptr<c10d::Work> work;  // of Gloo, or
  nccl::Gpus::Work gpu_work;
  std::vector<at::Tensor> tensors;

  void wait_for_cpu();
};

// Errors of a GPU say what was done with it.
template <class Call>
auto named(const std::string& what, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    fail(error.code(), what, ": ", error.what());
  }
}

}  // namespace seekrl::comm
