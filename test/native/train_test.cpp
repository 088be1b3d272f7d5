// Training that is interrupted: by a backward that fails, and by memory that ends while an optimiser is made.
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <c10/core/CPUAllocator.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "check.h"
#include "train/trainer.h"

using namespace seekrl;

namespace {

std::shared_ptr<model::Decoder> make_decoder(at::ScalarType dtype) {
  model::DecoderConfig config;
  config.vocab_size = 11;
  config.hidden_size = 8;
  config.intermediate_size = 12;
  config.num_layers = 2;
  config.num_heads = 2;
  config.num_kv_heads = 1;
  config.head_dim = 4;
  config.tie_embeddings = true;
  auto decoder = std::make_shared<model::Decoder>(config, dtype, at::kCPU);
  decoder->initialise(3, 0.3);
  return decoder;
}

train::Batch make_batch() {
  train::BatchArrays arrays;
  arrays.tokens = {1, 2, 3, 4, 5, 6};
  arrays.span_starts = {0, 6};
  arrays.rows = {1, 2, 3, 4};
  arrays.targets = {3, 4, 5, 6};
  arrays.weights = {0.25f, 0.25f, 0.25f, 0.25f};
  return train::make_batch(arrays, 11, at::kCPU);
}

double loss_of(train::Trainer& trainer, const train::Batch& batch) {
  train::LossSums sums;
  trainer.accumulate(batch, {}, sums);
  return sums.read().loss;
}

// Every gradient after one micro-batch, with the backward of another interrupted before when `interrupt` is set.
std::vector<at::Tensor> gradients(at::ScalarType dtype, bool interrupt) {
  auto decoder = make_decoder(dtype);
  train::Trainer trainer({decoder, nullptr}, {});
  const train::Batch batch = make_batch();
  if (interrupt) {
    // The embedding's gradient is the last to be made, so that all others have theirs already.
    const at::Tensor& last = decoder->parameter("model.layers.0.input_layernorm.weight");
    const auto hook = last.register_hook([](const at::Tensor&) -> void { throw std::bad_alloc(); });
    bool is_thrown = false;
    try {
      loss_of(trainer, batch);
    } catch (const std::bad_alloc&) {
      is_thrown = true;
    }
    EXPECT(is_thrown);
    last.remove_hook(hook);
  }
  loss_of(trainer, batch);
  std::vector<at::Tensor> result;
  for (const auto& parameter : decoder->parameters()) {
    result.push_back(trainer.optimizer().gradient(parameter.name).clone());
  }
  return result;
}

// The CPU's allocator, which refuses once `num_left` allocations have been made.
class Failing : public c10::Allocator {
 public:
  explicit Failing(c10::Allocator* real) : real_(real) {}
  c10::DataPtr allocate(size_t num_bytes) override {
    if (num_left-- <= 0) throw std::bad_alloc();
    return real_->allocate(num_bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return real_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t count) const override { real_->copy_data(to, from, count); }

  int num_left = 0;

 private:
  c10::Allocator* real_;
};

bool is_trained(const model::Decoder& decoder) {
  for (const auto& parameter : decoder.parameters()) {
    if (parameter.value.requires_grad()) return true;
  }
  return false;
}

}  // namespace

TEST("a batch has the rows of a sequence together, in ascending order") {
  train::BatchArrays arrays;
  arrays.tokens = {1, 2, 3, 4};
  arrays.span_starts = {0, 4};
  arrays.rows = {0, 1, 2};
  arrays.targets = {2, 3, 4};
  arrays.sequences = {0, 0, 2};
  EXPECT(train::make_batch(arrays, 11, at::kCPU).sequences_R.size(0) == 3);
  arrays.sequences = {0, 2, 0};
  bool is_refused = false;
  try {
    train::make_batch(arrays, 11, at::kCPU);
  } catch (const Error& error) {
    is_refused = error.code() == ErrorCode::kRange;
  }
  EXPECT(is_refused);
}

TEST("a backward that was interrupted leaves nothing in the next gradient") {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto expected = gradients(dtype, false), actual = gradients(dtype, true);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT(at::equal(actual[i], expected[i]));
  }
}

TEST("memory that ends while an optimiser is made leaves the model as it was") {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto decoder = make_decoder(dtype);
    c10::Allocator* const real = c10::GetCPUAllocator();
    Failing failing(real);
    std::unique_ptr<train::Trainer> trainer;
    int num_refused = 0;
    for (int num_allowed = 0; trainer == nullptr; ++num_allowed) {
      failing.num_left = num_allowed;
      c10::SetCPUAllocator(&failing, 100);
      try {
        trainer = std::make_unique<train::Trainer>(model::Policy{decoder, nullptr}, train::AdamWOptions{});
      } catch (const std::exception&) {
        ++num_refused;
      }
      c10::SetCPUAllocator(real, 100);
      EXPECT(is_trained(*decoder) == (trainer != nullptr));
      if (test::num_failures() > 0) return;
    }
    EXPECT(num_refused >= 3);
    EXPECT(std::isfinite(loss_of(*trainer, make_batch())));
  }
}
