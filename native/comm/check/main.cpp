// Run by the build: whether our declarations of Gloo agree with the libtorch at hand. Two ranks, one thread each, do
// every collective; the exit status says whether the sums are right.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "base/error.h"
#include "comm/process_group.h"

namespace seekrl::comm {

namespace {

constexpr int kSize = 2;
constexpr auto kBrain = at::kBFloat16;

int free_port() {
  const int socket_id = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool is_bound = bind(socket_id, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                        getsockname(socket_id, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(socket_id);
  require(is_bound, ErrorCode::kIo, "expected a free port on this machine");
  return ntohs(address.sin_port);
}

void expect(const at::Tensor& got, const at::Tensor& wanted, const char* what) {
  require(at::equal(got, wanted), ErrorCode::kInternal, what, ": wrong numbers");
}

void check_rank(int rank, int port) {
  const Place place{
      rank, kSize, "127.0.0.1", port, rank == 0, "check", std::chrono::seconds(60), std::chrono::seconds(60)};
  ProcessGroup group(place);
  const at::Tensor eight = at::arange(8, at::kFloat);
  for (const auto dtype : {at::kFloat, kBrain}) {
    const at::Tensor sum = (eight * (rank + 1)).to(dtype);
    group.all_reduce(sum, "all-reduce").wait();
    expect(sum, (eight * 3).to(dtype), "all-reduce");
    const at::Tensor all = (eight * (rank + 1)).to(dtype), own = at::empty({4}, dtype);
    group.reduce_scatter(own, all, "reduce-scatter").wait();
    expect(own, (eight.narrow(0, 4 * rank, 4) * 3).to(dtype), "reduce-scatter");
    group.all_gather(all, own, "all-gather").wait();
    expect(all, (eight * 3).to(dtype), "all-gather");
  }
  const at::Tensor root = at::full({3}, rank, at::kFloat);
  group.broadcast(root, 1, "broadcast").wait();
  expect(root, at::full({3}, 1, at::kFloat), "broadcast");
  const at::Tensor tree = eight * (rank + 1);
  group.tree_reduce(tree, "tree");
  expect(tree, eight * 3, "tree");
  const auto messages = group.exchange(ProcessGroup::Message(5 * rank, 7), "messages");
  require(messages[1] == ProcessGroup::Message(5, 7) && messages[0].empty(), ErrorCode::kInternal, "messages: wrong");
  group.leave();
}

void check() {
  const int port = free_port();
  std::exception_ptr failure;
  std::thread first([&] {
    try {
      check_rank(0, port);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  try {
    check_rank(1, port);
  } catch (...) {
    failure = std::current_exception();
  }
  first.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

}  // namespace seekrl::comm

int main() {
  try {
    seekrl::comm::check();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: collectives of this libtorch do not do what native/comm/gloo declares: %s\n",
                 error.what());
    return 1;
  }
}
