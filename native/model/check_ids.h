// Token ids as they enter: no table is read beside its rows.
#pragma once

#include <cstdint>
#include <span>

namespace seekrl::model {

// ERR_RANGE unless each is from 0 to vocab_size - 1; `where` names them.
void check_ids(std::span<const int64_t> ids, int64_t vocab_size, const char* where);

}  // namespace seekrl::model
