// What does attention in bf16 cost, against ATen's flash attention of the CPU?
//
// Build: cmake -DSEEKRL_BENCH=ON ...; run with the libtorch lib folder in LD_LIBRARY_PATH. Heads are those of
// Qwen2.5-0.5B: 14 that share 2 key heads, 64 channels. ATen has a copy of the keys and values for every head, which
// costs it nothing here. One thread; both sides' best of 15.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "ops/attention/span_attention.h"

using namespace seekrl;

namespace {

constexpr int64_t kHeads = 14, kKeyHeads = 2, kChannels = 64;

template <class Body>
double best_ms(const Body& body) {
  double best = 1e9;
  for (int i = 0; i < 15; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3);
  }
  return best;
}

void compare(int64_t length) {
  const at::Tensor query = at::randn({length, kHeads, kChannels});
  const at::Tensor key = at::randn({length, kKeyHeads, kChannels}), value = at::randn({length, kKeyHeads, kChannels});
  const auto heads_first = [](const at::Tensor& x, int64_t copies) {
    return x.to(at::kBFloat16).repeat_interleave(copies, 1).transpose(0, 1).unsqueeze(0).contiguous();
  };
  const at::Tensor q = heads_first(query, 1), k = heads_first(key, kHeads / kKeyHeads),
                   v = heads_first(value, kHeads / kKeyHeads);
  const ops::Spans spans = {{0, length}, {-1}};
  const double ours = best_ms([&] { ops::span_attention(query, key, value, spans, {.scale = 0.125f}, at::kBFloat16); });
  const double aten = best_ms([&] { at::scaled_dot_product_attention(q, k, v, {}, 0.0, /*is_causal=*/true); });
  std::printf("%5ld tokens: ours %8.3f ms, ATen %8.3f ms, ratio %.2f\n", static_cast<long>(length), ours, aten,
              aten / ours);
}

}  // namespace

int main() {
  at::NoGradGuard no_grad;
  at::set_num_threads(1);
  for (const int64_t length : {64, 128, 512, 2048, 4096}) compare(length);
}
