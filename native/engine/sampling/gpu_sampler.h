// Chooses the next token of each row on a GPU: the token of sampler.h for the same logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/sampling/sampler.h"
#include "kernels/cuda/sampling/sampler.h"

namespace seekrl::engine {

// Requests as the kernel has them.
struct GpuRequests {
  std::vector<cuda::SampleRow> rows;
  at::Tensor edits;  // what the rows point to on the GPU, with their masks; undefined where they have none
};
// Whether the kernel lists tokens for any of them.
bool any_lists_top(const std::vector<SampleRequest>& requests);
GpuRequests pack_requests(const std::vector<SampleRequest>& requests, int64_t vocab_size, at::Device device);

// Room on a GPU for what the kernel lists: u8 [R, kTopBytes].
inline constexpr int64_t kTopBytes = kernels::kMaxTop * sizeof(kernels::TopToken);
// What came to the host of one row.
std::vector<kernels::TopToken> top_of(const at::Tensor& on_host, int64_t row, int64_t num_top);

// logits_RV: f32 on a GPU. 12 bytes a row come back, and 160 of all where one lists its most likely tokens. `part`: as
// of sample(); 12 bytes more for each temperature then.
std::vector<Sample> sample_on_gpu(const at::Tensor& logits_RV, const std::vector<SampleRequest>& requests,
                                  double softcap, int64_t part);

}  // namespace seekrl::engine
