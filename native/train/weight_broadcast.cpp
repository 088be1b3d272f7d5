// One broadcast a bucket: small weights side by side, a large one where it stands.
#include "train/weight_broadcast.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"

namespace seekrl::train {

namespace {

constexpr int64_t kBucketWeights = int64_t{1} << 22;  // of several parameters together
constexpr const char* kWhat = "broadcast of weights";

using Bucket = std::vector<at::Tensor>;  // flat

std::vector<Bucket> buckets_of(const std::vector<model::Parameter>& parameters) {
  std::vector<Bucket> buckets;
  int64_t room = 0;
  at::ScalarType dtype = at::kFloat;
  for (const auto& [name, value] : parameters) {
    const at::Tensor flat = value.detach().view({-1});
    if (buckets.empty() || flat.numel() > room || flat.scalar_type() != dtype) {
      buckets.emplace_back();
      room = kBucketWeights;
      dtype = flat.scalar_type();
    }
    buckets.back().push_back(flat);
    room -= flat.numel();
  }
  return buckets;
}

// A bucket on its way.
struct Transfer {
  Bucket bucket;
  at::Tensor all;
  comm::Pending pending;

  void finish(bool is_root) {
    pending.wait();
    int64_t place = 0;
    for (at::Tensor& flat : bucket) {
      if (!is_root && bucket.size() > 1) flat.copy_(all.narrow(0, place, flat.numel()));
      place += flat.numel();
    }
  }
};

Transfer begun(const Bucket& bucket, comm::ProcessGroup& group, int root) {
  int64_t count = 0;
  for (const at::Tensor& flat : bucket) count += flat.numel();
  const bool is_root = group.rank() == root;
  at::Tensor all = bucket.front();
  if (bucket.size() > 1) all = is_root ? at::cat(bucket) : at::empty({count}, all.options());
  // Copied as bytes, whatever the dtype is.
  comm::Pending pending = group.broadcast(all.view(at::kByte), root, kWhat);
  return {bucket, all, std::move(pending)};
}

// ERR_STATE where ranks hold other policies. Returns the root's version.
int64_t agreed_version(const model::Policy& policy, comm::ProcessGroup& group, int root) {
  const std::vector<model::Parameter>& parameters = policy.parameters();
  int64_t numel = 0;
  for (const auto& [name, value] : parameters) numel += value.numel();
  const auto options = parameters.front().value.options().dtype(at::kLong).requires_grad(false);
  const at::Tensor told = at::full({2}, policy.version(), options);
  told[1].fill_(numel);
  group.broadcast(told, root, kWhat).wait();
  const at::Tensor heard = told.cpu();
  group.require_whole(kWhat);
  require(heard[1].item<int64_t>() == numel, ErrorCode::kState, kWhat, ": expected ", numel,
          " weights as here, got a policy of ", heard[1].item<int64_t>());
  return heard[0].item<int64_t>();
}

}  // namespace

void broadcast_weights(const model::Policy& policy, comm::ProcessGroup& group, int root) {
  at::NoGradGuard no_grad;
  if (policy.adapter == nullptr) policy.decoder->need_whole();
  const bool is_root = group.rank() == root;
  const int64_t version = agreed_version(policy, group, root);
  std::vector<Transfer> before;
  for (const Bucket& bucket : buckets_of(policy.parameters())) {
    before.push_back(begun(bucket, group, root));
    if (before.size() < 2) continue;
    before.front().finish(is_root);
    before.erase(before.begin());
  }
  for (Transfer& last : before) last.finish(is_root);
  policy.parameters().front().value.detach().view({-1})[0].cpu();  // the host waits for a GPU
  group.require_whole(kWhat);
  if (!is_root) policy.changed_to(version);
}

}  // namespace seekrl::train
