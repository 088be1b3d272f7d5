// A code and the beginning of a message travel.
#include "model/parallel/all_check.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <string>

namespace seekrl::model {

namespace {

constexpr int64_t kMessageBytes = 1000;

struct Finding {
  int64_t has_failed = 0;
  int64_t code = 0;
  char message[kMessageBytes] = {};  // ends with a zero
};

Finding found_by(const std::function<void()>& check) {
  Finding finding;
  try {
    check();
  } catch (const Error& error) {
    finding.has_failed = 1;
    finding.code = static_cast<int64_t>(error.code());
    std::strncpy(finding.message, error.what(), kMessageBytes - 1);
  }
  return finding;
}

}  // namespace

void all_check(const TensorParallel& parallel, const std::function<void()>& check) {
  if (!parallel.is_split()) return check();
  const Finding own = found_by(check);
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Finding));
  const at::Tensor sent = at::empty({kBytes}, at::kByte), all = at::empty({parallel.size() * kBytes}, at::kByte);
  std::memcpy(sent.mutable_data_ptr(), &own, sizeof(own));
  parallel.group()->all_gather(all, sent, "tensor parallelism: checks").wait();
  for (int64_t rank = 0; rank < parallel.size(); ++rank) {
    Finding finding;
    std::memcpy(&finding, all.const_data_ptr<uint8_t>() + rank * kBytes, sizeof(finding));
    if (finding.has_failed == 0) continue;
    const std::string who = rank == 0 ? "" : "rank " + std::to_string(rank) + ": ";
    throw AlikeError(static_cast<ErrorCode>(finding.code), who + finding.message);
  }
}

}  // namespace seekrl::model
