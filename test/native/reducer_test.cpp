// Sums over ranks whose addends travel in bf16: against f64, over sizes and magnitudes.
#include "train/zero/reducer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>

#include <cmath>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "check.h"
#include "comm/check/free_port.h"
#include "comm/process_group.h"

namespace {

using namespace seekrl;

// One thread a rank; what each returns.
std::vector<at::Tensor> on_ranks(int size,
                                 const std::function<at::Tensor(const std::shared_ptr<comm::ProcessGroup>&)>& work) {
  const int port = comm::free_port();
  std::vector<at::Tensor> results(size);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      const std::chrono::seconds minute(60);
      auto group = std::make_shared<comm::ProcessGroup>(
          comm::Place{rank, size, "127.0.0.1", port, rank == 0, "reducer", minute, minute});
      results[rank] = work(group);
      group->leave();
    });
  }
  for (std::thread& each : ranks) each.join();
  return results;
}

// Numbers of magnitudes that are far apart, in which neighbours differ.
std::vector<at::Tensor> addends(int size, int64_t count) {
  std::vector<at::Tensor> all;
  for (int rank = 0; rank < size; ++rank) {
    const at::Tensor exponents = at::arange(count, at::kFloat).remainder(41) - 20;
    all.push_back(at::randn({count}) * exponents.exp2());
  }
  return all;
}

// How far sums are from those in f64, of what the sizes of the addends add up to.
double worst(const std::vector<at::Tensor>& given, const at::Tensor& sums) {
  const at::Tensor exact = at::stack(given).to(at::kDouble);
  return ((sums.to(at::kDouble) - exact.sum(0)).abs() / exact.abs().sum(0)).max().item<double>();
}

// bf16 has 8 bits, so the nearest number is 2^-8 of a number away at most.
const double kRounding = std::ldexp(1.0, -8), kSumming = std::ldexp(1.0, -20);

}  // namespace

TEST("what ranks sum in bf16 is as near as each of their addends, the same on all ranks, of any number") {
  for (const int size : {2, 3}) {
    for (const int64_t count : {1, 7, 256, 1001}) {
      const std::vector<at::Tensor> given = addends(size, count);
      const auto results = on_ranks(size, [&](const std::shared_ptr<comm::ProcessGroup>& group) {
        at::Tensor own = given[group->rank()].clone();
        train::Reducer(group, at::kBFloat16).sum(own);
        return own;
      });
      for (const at::Tensor& sums : results) {
        EXPECT(sums.equal(results[0]));
        EXPECT(worst(given, sums) <= 2 * kRounding + kSumming);
      }
    }
  }
}

TEST("a rank's own part of a sum in bf16 is rounded once, on the way") {
  constexpr int kSize = 3;
  constexpr int64_t kPart = 512;
  const std::vector<at::Tensor> given = addends(kSize, kSize * kPart);
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto parts = on_ranks(kSize, [&](const std::shared_ptr<comm::ProcessGroup>& group) {
      return train::Reducer(group, dtype).begin_part(given[group->rank()]).wait();
    });
    const double most = worst(given, at::stack(parts).view({-1}));
    EXPECT(most <= (dtype == at::kFloat ? 0 : kRounding) + kSumming);
    EXPECT(dtype == at::kFloat || most > kRounding / 2);
  }
}
