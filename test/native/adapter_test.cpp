// Adapters: read and written, put on some rows of a batch, merged, refused.
#include "model/adapters/adapter.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "model/adapters/adapter_rows.h"
#include "model/adapters/merge.h"
#include "model/score.h"
#include "model/weights.h"
#include "scratch_file.h"
#include "tiny_decoder.h"

using namespace seekrl;
using namespace seekrl::model;
using test::code_of;
using test::ScratchFile;

namespace {

std::shared_ptr<Adapter> make(const Decoder& decoder, uint64_t seed, std::vector<std::string> targets = {"all-linear"},
                              int64_t rank = 3) {
  AdapterOptions options;
  options.rank = rank;
  options.alpha = 2;
  options.targets = std::move(targets);
  auto adapter = std::make_shared<Adapter>(decoder.projections(), options, at::kCPU, seed);
  const at::NoGradGuard no_grad;
  for (const Parameter& each : adapter->parameters()) {
    at::Tensor value = each.value;
    value.add_(0.01 * static_cast<double>(seed));  // B is zero
  }
  return adapter;
}

std::vector<StoredTensor> places_of(const Adapter& adapter, const std::string& path) {
  std::vector<StoredTensor> stored;
  uint64_t offset = 1;
  for (const auto& [name, value] : adapter.parameters()) {
    stored.push_back({name, "F32", value.sizes().vec(), path, offset});
    offset += value.nbytes();
  }
  return stored;
}

bool same(const Adapter& a, const Adapter& b) {
  for (size_t i = 0; i < a.parameters().size(); ++i) {
    if (!at::equal(a.parameters()[i].value, b.parameters()[i].value)) return false;
  }
  return true;
}

const std::vector<int64_t> kIds = {1, 5, 9, 2, 7, 7, 3};

}  // namespace

TEST("an adapter is read as it was written; one that is cut short or not finite leaves it as it was") {
  const auto decoder = test::tiny_decoder(at::kFloat);
  const auto written = make(*decoder, 1), adapter = make(*decoder, 2), before = clone(*adapter, decoder->projections());
  const ScratchFile file;
  write_tensors(written->parameters(), file.path(), "1", "F32");
  std::vector<StoredTensor> stored = places_of(*written, file.path());
  read_tensors(adapter->parameters(), stored);
  EXPECT(same(*adapter, *written));
  write_tensors(before->parameters(), file.path(), "1", "F32");
  read_tensors(adapter->parameters(), stored);
  EXPECT(same(*adapter, *before));
  const auto refused = [&](ErrorCode code) {
    EXPECT(code_of([&] { read_tensors(adapter->parameters(), stored); }) == code);
    EXPECT(same(*adapter, *before));
  };
  write_tensors(written->parameters(), file.path(), "1", "F32");
  const ScratchFile ones(std::string(1 << 12, '\xff'));
  stored.back().path = ones.path();
  stored.back().offset = 0;
  refused(ErrorCode::kRange);
  stored.back() = places_of(*written, file.path()).back();
  stored.back().offset += 1;
  refused(ErrorCode::kFormat);
  stored.pop_back();
  refused(ErrorCode::kFormat);
}

TEST("a rank is at most the width of the widest target") {
  const auto decoder = test::tiny_decoder(at::kFloat);
  make(*decoder, 1, {"q_proj"}, 16);
  EXPECT(code_of([&] { make(*decoder, 1, {"q_proj"}, 17); }) == ErrorCode::kRange);
  EXPECT(code_of([&] { make(*decoder, 1, {"all-linear"}, 100'000'000); }) == ErrorCode::kRange);
  EXPECT(code_of([&] { make(*decoder, 1, {"q_proj"}, 0); }) == ErrorCode::kArgument);
  EXPECT(code_of([&] { make(*decoder, 1, {"proj"}); }) == ErrorCode::kArgument);
}

TEST("each row of a batch goes through its own adapter, whoever its neighbours are") {
  const auto decoder = test::tiny_decoder(at::kFloat);
  const std::shared_ptr<const Adapter> a = make(*decoder, 1), b = make(*decoder, 2, {"v_proj"});
  const at::NoGradGuard no_grad;
  const std::vector<std::shared_ptr<const Adapter>> of_rows = {nullptr, a, a, b, nullptr, b, a};
  AdapterRows rows;
  for (const auto& each : of_rows) rows.add(each, 1);
  const auto count = static_cast<int64_t>(of_rows.size());
  for (size_t p = 0; p < decoder->projections().size(); ++p) {
    const auto place = static_cast<int64_t>(p);
    const auto& [name, width, columns, slice] = decoder->projections()[p];
    const at::Tensor x = at::full({count, columns}, 0.5) * at::tensor({1., 2., 3., 4., 5., 6., 7.}).unsqueeze(1);
    const at::Tensor x_MK = x.to(at::kFloat);
    const at::Tensor together = rows.add_to(at::zeros({count, width}), x_MK, place);
    for (int64_t i = 0; i < count; ++i) {
      const at::Tensor row = at::tensor({i}, at::kLong);
      const at::Tensor alone = rows.select(row).add_to(at::zeros({1, width}), x_MK.narrow(0, i, 1), place);
      EXPECT(at::equal(alone[0], together[i]));
      const bool is_changed = of_rows[i] != nullptr && of_rows[i]->at(place) != nullptr;
      EXPECT(together[i].eq(0).all().item<bool>() != is_changed);
    }
  }
}

TEST("a merged decoder computes what it did with the adapter on") {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const auto decoder = test::tiny_decoder(dtype);
    const auto adapter = make(*decoder, 1);
    const at::Tensor on = score_logprobs({decoder, adapter}, kIds), off = score_logprobs({decoder, nullptr}, kIds);
    EXPECT((on - off).abs().max().item<double>() > 1e-3);
    merge(*decoder, *adapter);
    const at::Tensor merged = score_logprobs({decoder, nullptr}, kIds);
    EXPECT_NEAR((merged - on).abs().max().item<double>(), 0, dtype == at::kFloat ? 1e-5 : 0.1);
  }
}
