// One forward over the ids as a single span.
#include "model/score.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "model/check_ids.h"
#include "model/stored/finite.h"

namespace seekrl::model {

namespace {

at::Tensor logprobs(const Policy& policy, const std::vector<int64_t>& ids) {
  const Decoder& decoder = *policy.decoder;
  const auto count = static_cast<int64_t>(ids.size());
  const at::Tensor ids_T = at::tensor(ids, at::kLong).to(decoder.device());
  const at::Tensor positions_T = at::arange(count - 1, ids_T.options());
  SpanAttention attention({{0, count - 1}, {}}, decoder.dtype());
  const at::Tensor hidden_TD = decoder.forward(ids_T.slice(0, 0, count - 1), positions_T, attention, {}, policy.rows());
  return decoder.token_logprob(hidden_TD, ids_T.slice(0, 1), 1.0).logprob_R.to(at::kCPU);
}

// For the other ranks.
Command score_command(const Policy& policy, const std::vector<int64_t>& ids) {
  return CommandWriter(Task::kScore).number(policy.adapter_number()).ids(ids).take();
}

}  // namespace

at::Tensor score_logprobs(const Policy& policy, const std::vector<int64_t>& ids) {
  check_ids(ids, policy.decoder->config().vocab_size, "id");
  if (ids.size() < 2) return at::empty({0}, at::kFloat);
  const at::NoGradGuard no_grad;
  at::Tensor logprob_R;
  policy.decoder->parallel().together([&] { return score_command(policy, ids); },
                                      [&] { logprob_R = logprobs(policy, ids); });
  const int64_t place = first_not_finite(logprob_R, at::kFloat);
  require(place < 0, ErrorCode::kRange, "score: expected finite log-probabilities, got ",
          place < 0 ? 0.0 : logprob_R[place].item<double>(), " for id ", place + 1);
  return logprob_R;
}

}  // namespace seekrl::model
