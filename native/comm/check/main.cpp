// Run by the build: whether our declarations of Gloo agree with the libtorch at hand. Two ranks, one thread each, do
// every collective; the exit status says whether the sums are right. With a rank, a port and a kind of device ("cuda"
// or the tests' "emulated") it is one of two processes whose collectives are on GPUs.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include "base/error.h"
#include "comm/check/free_port.h"
#include "comm/nccl/library.h"
#include "comm/process_group.h"

namespace seekrl::comm {

namespace {

constexpr int kSize = 2;
constexpr auto kBrain = at::kBFloat16;

void expect(const at::Tensor& got, const at::Tensor& wanted, const char* what) {
  require(at::equal(got, wanted), ErrorCode::kInternal, what, ": wrong numbers");
}

// Rank 1 goes without a word, in the middle of a sum of rank 0's.
void die_or_wait(ProcessGroup& group, at::Device device) {
  const at::Tensor numbers = at::ones({1 << 20}).to(device);
  if (group.rank() == 1) std::_Exit(0);
  group.all_reduce(numbers, "a sum").wait();
  static_cast<void>(numbers.cpu());
  group.require_whole("a sum");
}

void check_sums(ProcessGroup& group, at::Device device, at::ScalarType dtype) {
  const int rank = group.rank();
  const at::Tensor eight = at::arange(8, at::kFloat);
  const auto there = [&](const at::Tensor& x) { return x.to(dtype).to(device); };
  const auto here = [&](const at::Tensor& x) {
    const at::Tensor home = x.cpu();
    group.require_whole("numbers");
    return home;
  };
  const at::Tensor sum = there(eight * (rank + 1));
  group.all_reduce(sum, "all-reduce").wait();
  expect(here(sum), (eight * 3).to(dtype), "all-reduce");
  const at::Tensor all = there(eight * (rank + 1)), own = there(at::zeros({4}));
  group.reduce_scatter(own, all, "reduce-scatter").wait();
  expect(here(own), (eight.narrow(0, 4 * rank, 4) * 3).to(dtype), "reduce-scatter");
  group.all_gather(all, own, "all-gather").wait();
  expect(here(all), (eight * 3).to(dtype), "all-gather");
  const at::Tensor root = there(at::full({3}, rank, at::kFloat));
  group.broadcast(root, 1, "broadcast").wait();
  expect(here(root), at::full({3}, 1, dtype), "broadcast");
  const at::Tensor sent = there(eight + 8 * rank), parts = there(at::zeros({8}));
  group.all_to_all(parts, sent, "all-to-all").wait();
  const at::Tensor mine = at::arange(4, at::kFloat) + 4 * rank;
  expect(here(parts), at::cat({mine, mine + 8}).to(dtype), "all-to-all");
  const at::Tensor tree = there(eight * (rank + 1));
  group.tree_reduce(tree, "tree");
  expect(here(tree), (eight * 3).to(dtype), "tree");
}

void check_rank(int rank, int port, at::Device device, std::chrono::seconds patience) {
  ProcessGroup group({rank, kSize, "127.0.0.1", port, rank == 0, "check", std::chrono::seconds(60), patience});
  for (const auto dtype : {at::kFloat, kBrain}) check_sums(group, device, dtype);
  const auto messages = group.exchange(ProcessGroup::Message(5 * rank, 7), "messages");
  require(messages[1] == ProcessGroup::Message(5, 7) && messages[0].empty(), ErrorCode::kInternal, "messages: wrong");
  if (std::getenv("SEEKRL_CHECK_DEATH") != nullptr) die_or_wait(group, device);
  group.leave();
}

void check() {
  const int port = free_port();
  std::exception_ptr failure;
  std::thread first([&] {
    try {
      check_rank(0, port, at::kCPU, std::chrono::seconds(60));
    } catch (...) {
      failure = std::current_exception();
    }
  });
  try {
    check_rank(1, port, at::kCPU, std::chrono::seconds(60));
  } catch (...) {
    failure = std::current_exception();
  }
  first.join();
  if (failure) std::rethrow_exception(failure);
}

// The library of the tests' device brings the device.
void check_gpus(int rank, int port, const std::string& kind) {
  const auto type = kind == "cuda" ? at::DeviceType::CUDA : at::DeviceType::PrivateUse1;
  nccl::library(type);
  check_rank(rank, port, at::Device(type, 0), std::chrono::seconds(3));
}

}  // namespace

}  // namespace seekrl::comm

int main(int argc, char** argv) {
  try {
    if (argc == 1) seekrl::comm::check();
    if (argc == 4) seekrl::comm::check_gpus(std::stoi(argv[1]), std::stoi(argv[2]), argv[3]);
    return 0;
  } catch (const std::exception& error) {
    if (argc == 4) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
    std::fprintf(stderr, "error: collectives of this libtorch do not do what native/comm/gloo declares: %s\n",
                 error.what());
    return 1;
  }
}
