// Rounded anew, a block of Q4_0 without the code of -8, as importance matrices leave some, would get another scale.
#include "model/gguf/quantise_stored.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/mapped_file.h"
#include "model/gguf/stored_rows.h"
#include "ops/parallel.h"

namespace seekrl::model {

namespace {

// A row of blocks of Q4_0: a scale in f16, then bytes that hold the codes of numbers j and j + 16.
void take_row(ops::QuantWeight& weight, const std::string& name, int64_t row, const uint8_t* blocks) {
  for (int64_t block = 0; block < weight.k() / kernels::kQuantBlock; ++block, blocks += 18) {
    uint16_t scale = 0;
    std::memcpy(&scale, blocks, sizeof(scale));
    require((scale & 0x7c00u) != 0x7c00u, ErrorCode::kRange, name, ": quantise: expected finite numbers");
    uint8_t codes[kernels::kQuantBlock];
    for (int64_t j = 0; j < 16; ++j) {
      codes[j] = blocks[2 + j] & 15;
      codes[j + 16] = blocks[2 + j] >> 4;
    }
    weight.put_block(row, block, codes, scale);
  }
}

void take_q4_0(ops::QuantWeight& weight, const std::string& name, const StoredRows& rows) {
  if (!weight.is_on_cpu()) {
    ops::QuantWeight here(weight.kind(), weight.n(), weight.k());
    take_q4_0(here, name, rows);
    return weight.copy_from(here);
  }
  constexpr int64_t kRows = kernels::kQuantLanes;
  ops::claim_items(kernels::num_quant_panels(weight.n()), weight.n() * weight.k(), [&](int64_t panel) {
    rows.each(panel * kRows, std::min(kRows, weight.n() - panel * kRows),
              [&](int64_t row, const uint8_t* blocks) { take_row(weight, name, row, blocks); });
  });
}

}  // namespace

void quantise_stored(ops::QuantWeight& weight, const StoredTensor& stored) {
  require(stored.dtype != "I16", ErrorCode::kFormat, stored.path, ": ", stored.name, ": expected weights, got I16");
  const MappedFile file(stored.path);
  const StoredRows rows(stored, file);
  const std::string name = stored.path + ": " + stored.name;
  if (weight.kind() == ops::QuantKind::kInt4 && stored.dtype == "Q4_0") return take_q4_0(weight, name, rows);
  ops::quantise(weight, name, [&](float* to, int64_t first, int64_t count) { rows.read(first, count, to); });
}

}  // namespace seekrl::model
