// AdamW on a card.
#pragma once

#include <vector>

#include "ops/adamw.h"

namespace seekrl::ops {

// As ops::adamw, of parameters on a card.
void card_adamw(const std::vector<TrainedParameter>& parameters, const AdamWRates& rates);

}  // namespace seekrl::ops
