// What does drawing a token cost, against what transformers' warpers do with ATen's ops?
//
// Build: cmake -DSEEKRL_BENCH=ON ...; run with the libtorch lib folder in LD_LIBRARY_PATH. Arguments: threads, rows,
// vocabulary.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "engine/sampling/sampler.h"

using namespace seekrl;

namespace {

template <class Body>
double best_ms(int repeats, const Body& body) {
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3);
  }
  return best;
}

// TopKLogitsWarper, TopPLogitsWarper and GenerationMixin's draw of transformers 5.18, op for op.
at::Tensor draw_with_aten(at::Tensor scores_RV, const engine::SamplingOptions& options) {
  const float forbidden = -INFINITY;
  if (options.top_k > 0) {
    const at::Tensor least = std::get<0>(at::topk(scores_RV, options.top_k, 1)).slice(1, -1);
    scores_RV = scores_RV.masked_fill(scores_RV < least, forbidden);
  }
  if (options.top_p < 1) {
    const auto [sorted, order] = at::sort(scores_RV, 1, false);
    at::Tensor removed = at::softmax(sorted, 1).cumsum(1) <= 1 - options.top_p;
    removed.slice(1, -1).fill_(false);
    scores_RV = scores_RV.masked_fill(removed.scatter(1, order, removed), forbidden);
  }
  return at::multinomial(at::softmax(scores_RV, 1), 1);
}

void compare(const char* distribution, const at::Tensor& logits_RV, const char* limits,
             const engine::SamplingOptions& options) {
  std::vector<engine::SampleRequest> requests(logits_RV.size(0), engine::SampleRequest{&options});
  for (size_t r = 0; r < requests.size(); ++r) requests[r].seed = r;
  const double ours = best_ms(20, [&] { engine::sample(logits_RV, requests); });
  const double aten = best_ms(3, [&] { draw_with_aten(logits_RV, options); });
  const auto rows = static_cast<double>(logits_RV.size(0));
  std::printf("%-22s %-22s ours %7.3f ms a row, ATen %7.3f, ratio %5.1f\n", distribution, limits, ours / rows,
              aten / rows, aten / ours);
}

void compare_all(const char* distribution, const at::Tensor& logits_RV) {
  engine::SamplingOptions none, top_k, top_p, both;
  top_k.top_k = 50;
  top_p.top_p = 0.95;
  both.top_k = 50;
  both.top_p = 0.95;
  both.temperature = 0.7;
  compare(distribution, logits_RV, "temperature 1", none);
  compare(distribution, logits_RV, "top-p 0.95", top_p);
  compare(distribution, logits_RV, "top-k 50", top_k);
  compare(distribution, logits_RV, "0.7, top-k 50, top-p", both);
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  const int64_t rows = argc > 2 ? std::atoi(argv[2]) : 32, vocab_size = argc > 3 ? std::atoi(argv[3]) : 151936;
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  compare_all("flat (normal, 0.5)", at::randn({rows, vocab_size}) * 0.5);
  compare_all("uneven (normal, 3)", at::randn({rows, vocab_size}) * 3);
  // Zipf's law over a vocabulary in random order, as of words in a text.
  at::Tensor zipf = at::empty({rows, vocab_size});
  const at::Tensor by_rank = at::arange(1, vocab_size + 1, at::kFloat).log() * -1.3;
  for (int64_t r = 0; r < rows; ++r) zipf[r].copy_(by_rank.index_select(0, at::randperm(vocab_size, at::kLong)));
  compare_all("text (Zipf, 1.3)", zipf);
  return 0;
}
