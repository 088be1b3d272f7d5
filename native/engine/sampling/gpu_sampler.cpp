// Copies to the GPU that nobody waits for, and one to the host.
#include "engine/sampling/gpu_sampler.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "engine/sampling/row_edits.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/products/token_logprob.h"
#include "ops/gpu/transfer.h"

namespace seekrl::engine {

namespace {

cuda::SampleRow row_of(const SampleRequest& request) {
  const SamplingOptions& options = *request.options;
  return {.seed = request.seed,
          .mask = nullptr,
          .edits = nullptr,
          .num_edits = 0,
          .top_k = static_cast<int32_t>(std::min<int64_t>(options.top_k, std::numeric_limits<int32_t>::max())),
          .temperature = options.temperature,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .repetition = static_cast<float>(options.repetition_penalty),
          .frequency = static_cast<float>(options.frequency_penalty),
          .presence = static_cast<float>(options.presence_penalty),
          .wants_entropy = request.wants_entropy ? 1 : 0,
          .num_top = static_cast<int32_t>(request.num_top)};
}

double temperature_of(const SampleRequest& request) {
  const double temperature = request.options->temperature;
  return temperature == 0 ? 1 : temperature;
}

// Of logits times the inverse temperature, log-probabilities, as combine_scores makes them. normalisers: of all rows
// under a temperature, on the CPU: entropies, maxima and logarithms of sums.
void score_by_parts(std::vector<Sample>& samples, const std::vector<SampleRequest>& requests,
                    const std::function<at::Tensor(double temperature)>& normalisers) {
  std::map<double, at::Tensor> known;
  const auto of = [&](double temperature, int64_t list, size_t row) {
    at::Tensor& all_3R = known[temperature];
    if (!all_3R.defined()) all_3R = normalisers(temperature).contiguous();
    return all_3R.const_data_ptr<float>()[static_cast<size_t>(list * all_3R.size(1)) + row];
  };
  for (size_t r = 0; r < samples.size(); ++r) {
    Sample& sample = samples[r];
    if (sample.token < 0) continue;
    const double temperature = temperature_of(requests[r]);
    const float max = of(temperature, 1, r), log_sum = of(temperature, 2, r);
    const auto score = [&](float z) { return (z - max) - log_sum; };
    sample.logprob = score(sample.logprob);
    for (kernels::TopToken& top : sample.top) top.logprob = score(top.logprob);
    if (requests[r].wants_entropy) sample.entropy = of(1, 0, r);
  }
}

}  // namespace

bool any_lists_top(const std::vector<SampleRequest>& requests) {
  return std::any_of(requests.begin(), requests.end(), [](const SampleRequest& each) { return each.num_top > 0; });
}

std::vector<kernels::TopToken> top_of(const at::Tensor& on_host, int64_t row, int64_t num_top) {
  const auto* const first =
      reinterpret_cast<const kernels::TopToken*>(on_host.const_data_ptr<uint8_t>() + row * kTopBytes);
  return {first, first + num_top};
}

GpuRequests pack_requests(const std::vector<SampleRequest>& requests, int64_t vocab_size, at::Device device) {
  GpuRequests packed;
  ops::StagedLists lists;
  std::vector<std::pair<size_t, size_t>> places;  // of a row's edits and mask
  for (const SampleRequest& request : requests) {
    cuda::SampleRow& row = packed.rows.emplace_back(row_of(request));
    const std::vector<cuda::LogitEdit> edits = edits_of(request);
    row.num_edits = static_cast<int32_t>(edits.size());
    const size_t edits_at = lists.add(edits.data(), edits.size());
    const bool is_sent = request.mask != nullptr && request.mask_on_gpu == nullptr;
    const size_t num_words = is_sent ? static_cast<size_t>((vocab_size + 31) / 32) : 0;
    places.emplace_back(edits_at, lists.add(request.mask, num_words));
    row.mask = request.mask_on_gpu;
  }
  if (lists.size() == 0) return packed;
  packed.edits = lists.copy_to_gpu(device);
  const auto* const base = static_cast<const std::byte*>(packed.edits.const_data_ptr());
  for (size_t r = 0; r < requests.size(); ++r) {
    const auto [edits_at, mask_at] = places[r];
    packed.rows[r].edits = reinterpret_cast<const cuda::LogitEdit*>(base + edits_at);
    const bool is_sent = requests[r].mask != nullptr && requests[r].mask_on_gpu == nullptr;
    if (is_sent) packed.rows[r].mask = reinterpret_cast<const uint32_t*>(base + mask_at);
  }
  return packed;
}

std::vector<Sample> sample_on_gpu(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests,
                                  double softcap, int64_t part) {
  const int64_t vocab_size = logits_RV.size(1), num_rows = std::ssize(requests);
  const at::Tensor logits = logits_RV.contiguous();
  const GpuRequests packed = pack_requests(requests, vocab_size, logits.device());
  std::vector<int32_t> num_tokens;
  for (const SampleRequest& request : requests) num_tokens.push_back(static_cast<int32_t>(request.tokens.size()));
  ops::StagedLists lists;
  const size_t num_tokens_at = lists.add(num_tokens.data(), num_tokens.size());
  const size_t rows_at = lists.add(packed.rows.data(), packed.rows.size());
  const at::Tensor there = lists.copy_to_gpu(logits.device());
  const auto* const base = static_cast<const std::byte*>(there.const_data_ptr());
  const at::Tensor drawn = at::empty({num_rows, static_cast<int64_t>(sizeof(cuda::DrawnToken))}, there.options());
  const bool lists_top = any_lists_top(requests);
  const at::Tensor top = at::empty({lists_top ? num_rows : 0, kTopBytes}, there.options());
  const cuda::SampleCall call = {.drawn_R = reinterpret_cast<cuda::DrawnToken*>(drawn.mutable_data_ptr()),
                                 .logits_RV = logits.const_data_ptr<float>(),
                                 .rows_R = reinterpret_cast<const cuda::SampleRow*>(base + rows_at),
                                 .num_tokens_R = reinterpret_cast<const int32_t*>(base + num_tokens_at),
                                 .num_rows = num_rows,
                                 .vocab_size = vocab_size,
                                 .softcap = static_cast<float>(softcap),
                                 .top_RK = reinterpret_cast<kernels::TopToken*>(top.mutable_data_ptr()),
                                 .gives_logits = part > 0};
  ops::require_launched(ops::gpu().sample(call, ops::stream_of(logits)));
  const at::Tensor top_on_host = lists_top ? ops::copy_to_host(top) : at::Tensor();
  const at::Tensor on_host = drawn.to(at::kCPU);  // waits for both
  const auto* const found = reinterpret_cast<const cuda::DrawnToken*>(on_host.const_data_ptr());
  std::vector<Sample> samples;
  for (int64_t r = 0; r < num_rows; ++r) samples.push_back({found[r].token, found[r].logprob, found[r].entropy});
  if (lists_top) {
    for (int64_t r = 0; r < num_rows; ++r) samples[r].top = top_of(top_on_host, r, requests[r].num_top);
  }
  if (part > 0)
    score_by_parts(samples, requests, [&](double temperature) {
      return ops::gpu_normalisers(logits, part, temperature, softcap).to(at::kCPU);
    });
  return samples;
}

}  // namespace seekrl::engine
