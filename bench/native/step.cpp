// How fast is a training step and a decoding step of a small model with our kernels, and how fast are ATen's ops?
//
// Build: cmake -DSEEKRL_BENCH=ON ...; run with the libtorch lib folder in LD_LIBRARY_PATH. Arguments: threads, and
// `linear` or `step` for that part only.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "model/decoder.h"
#include "ops/head/token_logprob.h"
#include "ops/products/linear.h"

using namespace seekrl;

namespace {

// With one thread the time this process has run, which other processes do not lengthen; else the clock on the wall.
double seconds() {
  if (at::get_num_threads() == 1) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Body>
double best_seconds(int repeats, const Body& body) {
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    const double start = seconds();
    body();
    best = std::min(best, seconds() - start);
  }
  return best;
}

model::DecoderConfig small_qwen2() {
  model::DecoderConfig config;
  config.vocab_size = 1500;
  config.hidden_size = 128;
  config.intermediate_size = 384;
  config.num_layers = 4;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 32;
  config.qkv_bias = true;
  config.tie_embeddings = true;
  return config;
}

void bench_linear(int64_t m, int64_t n, int64_t k) {
  const at::Tensor x = at::randn({m, k}), weight = at::randn({n, k});
  const at::NoGradGuard no_grad;
  const int repeats = m * n * k > (1 << 28) ? 5 : 30;
  const double ours = best_seconds(repeats, [&] { ops::linear(x, weight, {}); });
  const double aten = best_seconds(repeats, [&] { at::linear(x, weight); });
  const double gflop = 2e-9 * static_cast<double>(m * n * k);
  std::printf("linear [%5ld, %5ld] x [%6ld]: ours %8.3f ms %6.1f GFLOP/s, ATen %8.3f ms %6.1f GFLOP/s, ratio %.2f\n",
              static_cast<long>(m), static_cast<long>(k), static_cast<long>(n), ours * 1e3, gflop / ours, aten * 1e3,
              gflop / aten, aten / ours);
}

void bench_step(int64_t num_tokens, int64_t span) {
  model::Decoder decoder(small_qwen2(), at::kFloat, at::kCPU);
  decoder.initialise(1, 0.02);
  for (const model::Parameter& parameter : decoder.parameters()) parameter.value.requires_grad_();
  const at::Tensor ids = at::randint(0, 1500, {num_tokens}, at::kLong);
  const at::Tensor positions = at::arange(num_tokens, at::kLong).remainder(span);
  std::vector<int64_t> starts;
  for (int64_t start = 0; start < num_tokens; start += span) starts.push_back(start);
  starts.push_back(num_tokens);
  double forward = 1e9;
  const double whole = best_seconds(4, [&] {
    model::SpanAttention attention({starts, {}});
    at::Tensor loss;
    forward = std::min(forward, best_seconds(1, [&] {
                         const at::Tensor hidden = decoder.forward(ids, positions, attention);
                         loss = ops::token_logprob(hidden, decoder.head_VD(), ids, 1.0).logprob_R.mean().neg();
                       }));
    loss.backward();
    for (const model::Parameter& parameter : decoder.parameters()) parameter.value.mutable_grad() = at::Tensor();
  });
  const auto tokens = static_cast<double>(num_tokens);
  std::printf("step of %ld tokens in spans of %ld: forward %.1f ms, whole %.1f ms, %.0f tokens/s\n",
              static_cast<long>(num_tokens), static_cast<long>(span), forward * 1e3, whole * 1e3, tokens / whole);
}

void bench_decode(int64_t batch) {
  model::Decoder decoder(small_qwen2(), at::kFloat, at::kCPU);
  decoder.initialise(1, 0.02);
  const at::NoGradGuard no_grad;
  const at::Tensor ids = at::randint(0, 1500, {batch}, at::kLong), positions = at::full({batch}, 200, at::kLong);
  std::vector<int64_t> starts(batch + 1);
  for (int64_t i = 0; i <= batch; ++i) starts[i] = i;
  model::SpanAttention attention({starts, {}});
  const double seconds =
      best_seconds(50, [&] { ops::linear(decoder.forward(ids, positions, attention), decoder.head_VD(), {}); });
  std::printf("decode of %ld rows without keys before them, with logits: %.3f ms, %.0f tokens/s\n",
              static_cast<long>(batch), seconds * 1e3, static_cast<double>(batch) / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const std::string only = argc > 2 ? argv[2] : "";
  if (only.empty() || only == "linear") {
    for (const int64_t m : {1, 8, 64, 512}) bench_linear(m, 4864, 896);
    for (const int64_t m : {1, 64, 4096}) bench_linear(m, 384, 128);
    bench_linear(4, 151936, 896);
  }
  if (only == "linear") return 0;
  bench_step(4096, 256);
  if (only == "step") return 0;
  bench_step(4096, 4096);
  for (const int64_t batch : {1, 64}) bench_decode(batch);
  return 0;
}
