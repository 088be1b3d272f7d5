// token_logprob (token_logprob.h) of ATen's ops, for the devices and dtypes that no kernel serves.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/head/token_logprob.h"

namespace seekrl::ops {

TokenLogprob composed_logprob(const at::Tensor& hidden_RD, const at::Tensor& weight_VD, const at::Tensor& ids_R,
                              double temperature, double logit_softcap);

}  // namespace seekrl::ops
