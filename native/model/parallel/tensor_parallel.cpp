// What follows needs the sums: on the CPU collectives block the device thread, on a GPU what is computed after them
// waits there.
#include "model/parallel/tensor_parallel.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <atomic>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "model/parallel/all_check.h"
#include "ops/kernel_path.h"

namespace seekrl::model {

namespace {

using comm::ProcessGroup;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Words of a command that travel with its length and its decoder's number; of most steps all of them.
constexpr int64_t kFirstWords = 1024;
constexpr int64_t kHead = 2;

constexpr const char* kGather = "tensor parallelism: gather";

// In f32, rounded once where the part has fewer bits. Overwrites the part where it is contiguous and f32.
at::Tensor sum_of(ProcessGroup& group, const at::Tensor& part) {
  const at::ScalarType dtype = part.scalar_type();
  at::Tensor sum = part.to(c10::isReducedFloatingType(dtype) ? at::kFloat : dtype).contiguous();
  group.tree_reduce(sum, "tensor parallelism: sum");
  return sum.to(dtype);
}

struct HeldGroup : torch::CustomClassHolder {
  explicit HeldGroup(std::shared_ptr<ProcessGroup> given) : group(std::move(given)) {}
  std::shared_ptr<ProcessGroup> group;
};

class SummedFunction : public torch::autograd::Function<SummedFunction> {
 public:
  static at::Tensor forward(AutogradContext* /*context*/, const at::Tensor& part,
                            const std::shared_ptr<ProcessGroup>& group) {
    return sum_of(*group, part.clone());
  }
  static variable_list backward(AutogradContext* /*context*/, variable_list grads) { return {grads[0], at::Tensor()}; }
};

class SharedFunction : public torch::autograd::Function<SharedFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const std::shared_ptr<ProcessGroup>& group) {
    context->saved_data["group"] = c10::IValue::make_capsule(c10::make_intrusive<HeldGroup>(group));
    return x.view_as(x);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto held = c10::static_intrusive_pointer_cast<HeldGroup>(context->saved_data["group"].toCapsule());
    return {sum_of(*held->group, grads[0].clone()), at::Tensor()};
  }
};

// FNV-1a (Fowler, Noll and Vo), of what lies side by side.
int64_t digest(const at::Tensor& numbers) {
  const auto* const bytes = static_cast<const uint8_t*>(numbers.const_data_ptr());
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < numbers.nbytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return static_cast<int64_t>(hash);
}

int64_t next_number() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

void check_divides(const char* what, int64_t count, int64_t size) {
  require(count % size == 0, ErrorCode::kArgument, "tensorParallel: ", size, " ranks: expected a number that divides ",
          count, " ", what, "; take fewer ranks");
}

}  // namespace

TensorParallel::TensorParallel(std::shared_ptr<comm::ProcessGroup> group, const DecoderConfig& config) {
  if (group == nullptr || group->size() == 1) return;
  const int64_t size = group->size();
  require((size & (size - 1)) == 0, ErrorCode::kArgument,
          "tensorParallel: expected a power of two of ranks, such as 2 or 4, got ", size);
  check_divides("key and value heads", config.num_kv_heads, size);
  check_divides("query heads", config.num_heads, size);
  check_divides("feed-forward channels", config.intermediate_size, size);
  require(config.vocab_size >= size * size, ErrorCode::kArgument, "tensorParallel: ", size,
          " ranks: expected a vocabulary of ", size * size, " tokens or more, got ", config.vocab_size);
  group_ = std::move(group);
  leading_ = std::make_shared<Leading>();
  number_ = next_number();
}

DecoderConfig TensorParallel::own(const DecoderConfig& config) const {
  DecoderConfig own = config;
  own.num_heads /= size();
  own.num_kv_heads /= size();
  own.intermediate_size /= size();
  return own;
}

Slice TensorParallel::slice(int64_t dim, int64_t count) const {
  if (!is_split()) return {};
  const int64_t each = (count + size() - 1) / size(), first = std::min(count, rank() * each);
  return {dim, first, std::min(each, count - first), count};
}

at::Tensor TensorParallel::summed(const at::Tensor& part) const {
  if (!is_split()) return part;
  return ops::needs_grad(part) ? SummedFunction::apply(part, group_) : sum_of(*group_, part);
}

at::Tensor TensorParallel::shared(const at::Tensor& x) const {
  return is_split() && ops::needs_grad(x) ? SharedFunction::apply(x, group_) : x;
}

// A collective takes as many of every rank: what the last one lacks is left out of the whole.
at::Tensor TensorParallel::joined_rows(const at::Tensor& own, const Slice& slice) const {
  // Gloo knows no i16.
  if (own.scalar_type() == at::kShort) {
    const at::Tensor bytes = own.contiguous().view({own.size(0), -1}).view(at::kByte);
    std::vector<int64_t> whole = own.sizes().vec();
    whole[0] = slice.whole;
    return joined_rows(bytes, slice).contiguous().view(at::kShort).view(whole);
  }
  std::vector<int64_t> shape = own.sizes().vec();
  const int64_t each = (slice.whole + size() - 1) / size();
  shape[0] = each;
  at::Tensor padded = own.contiguous();
  if (slice.count < each) {
    padded = at::zeros(shape, own.options());
    padded.narrow(0, 0, slice.count).copy_(own);
  }
  shape[0] = each * size();
  at::Tensor all = at::empty(shape, own.options());
  group_->all_gather(all, padded, kGather).wait();
  return all.narrow(0, 0, slice.whole);
}

void TensorParallel::check_same(const at::Tensor& own, const std::string& name) const {
  const at::Tensor sent = at::empty({1}, at::kLong), all = at::empty({size()}, at::kLong);
  sent.mutable_data_ptr<int64_t>()[0] = digest(own.detach().to(at::kCPU).contiguous());
  group_->all_gather(all, sent, "tensor parallelism: digests").wait();
  for (int64_t other = 0; other < size(); ++other) {
    require(all.const_data_ptr<int64_t>()[other] == sent.const_data_ptr<int64_t>()[0], ErrorCode::kInternal,
            "tensor parallelism: ", name, ": expected the same numbers on all ranks, got others on rank ", rank(),
            " than on rank ", other, "; start again from the last checkpoint");
  }
}

at::Tensor TensorParallel::joined(const at::Tensor& own, const Slice& slice, const std::string& name) const {
  if (!is_split()) return own;
  if (slice.is_all()) {
    check_same(own, name);
    return own;
  }
  // Columns as rows: ranks stand one behind the other then.
  const at::Tensor whole = slice.dim == 0 ? joined_rows(own, slice) : joined_rows(own.t().contiguous(), slice).t();
  group_->finish(kGather);  // who is given it believes it
  return whole;
}

ops::HeadSlice TensorParallel::head_slice(const Slice& slice) const {
  if (!is_split()) return {};
  return {slice.first, slice.whole, [group = group_](const at::Tensor& own) {
            std::vector<int64_t> shape = own.sizes().vec();
            shape.insert(shape.begin(), group->size());
            at::Tensor all = at::empty({group->size() * own.numel()}, own.options());
            group->all_gather(all, own.view({-1}), "tensor parallelism: scores").wait();
            return all.view(shape);
          }};
}

void TensorParallel::together(const std::function<Command()>& command, const std::function<void()>& body) const {
  if (!is_split() || rank() > 0) return body();
  tell(command());
  try {
    body();
    require_whole();
  } catch (const c10::OutOfMemoryError& error) {
    // The others wait for sums that do not come.
    const Error named = full_gpu(error);
    report(named);
    throw named;
  } catch (const std::exception& error) {
    report(error);
    throw;
  }
}

void TensorParallel::require_whole() const {
  if (is_split()) group_->require_whole("tensor parallelism");
}

Error TensorParallel::full_gpu(const c10::OutOfMemoryError& error) const {
  std::ostringstream text;
  text << "tensor parallelism: expected room on the GPU of rank " << rank()
       << " for what all ranks compute together; give the cache less (cacheBytes), take fewer tokens at once or more "
          "ranks: "
       << error.what_without_backtrace();
  return {ErrorCode::kMemory, text.str()};
}

int64_t TensorParallel::least(int64_t own) const {
  if (!is_split()) return own;
  const at::Tensor sent = at::empty({1}, at::kLong), all = at::empty({size()}, at::kLong);
  sent.mutable_data_ptr<int64_t>()[0] = own;
  group_->all_gather(all, sent, "tensor parallelism: room").wait();
  const int64_t* const numbers = all.const_data_ptr<int64_t>();
  return *std::min_element(numbers, numbers + size());
}

void TensorParallel::end_with(std::weak_ptr<const void> thing, Command command) const {
  if (is_split() && rank() == 0) leading_->endings.push_back({std::move(thing), number_, std::move(command)});
}

void TensorParallel::tell(const Command& command) const {
  require(!leading_->is_released, ErrorCode::kState, "model: closed");
  const std::string failure = group_->failure();
  require(failure.empty(), ErrorCode::kRemote, "tensor parallelism: ", failure);
  tell_endings();
  send(number_, command);
}

// What was opened last first: it may stand on what was opened before.
void TensorParallel::tell_endings() const {
  std::vector<Leading::Ending>& endings = leading_->endings;
  for (size_t i = endings.size(); i-- > 0;) {
    if (!endings[i].thing.expired()) continue;
    send(endings[i].decoder, endings[i].command);
    endings.erase(endings.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void TensorParallel::send(int64_t decoder, const Command& command) const {
  const auto count = static_cast<int64_t>(command.size()), first = std::min(count, kFirstWords);
  Command head(kHead + kFirstWords);
  head[0] = count;
  head[1] = decoder;
  std::copy_n(command.begin(), first, head.begin() + kHead);
  group_->hear(at::from_blob(head.data(), {std::ssize(head)}, at::kLong), 0, "tensor parallelism: command").wait();
  if (count == first) return;
  const at::Tensor rest = at::empty({count - first}, at::kLong);
  std::copy(command.begin() + first, command.end(), rest.mutable_data_ptr<int64_t>());
  group_->hear(rest, 0, "tensor parallelism: command").wait();
}

Told TensorParallel::next_command() const {
  const at::Tensor head = at::empty({kHead + kFirstWords}, at::kLong);
  group_->hear(head, 0, "tensor parallelism: command").wait();
  const int64_t* const words = head.const_data_ptr<int64_t>();
  const int64_t count = words[0], first = std::min(count, kFirstWords);
  Told told = {words[1], Command(words + kHead, words + kHead + first)};
  if (count == first) return told;
  told.command.resize(static_cast<size_t>(count));
  const at::Tensor rest = at::from_blob(told.command.data() + first, {count - first}, at::kLong);
  group_->hear(rest, 0, "tensor parallelism: command").wait();
  return told;
}

bool TensorParallel::is_alike(const std::exception& error) {
  if (dynamic_cast<const AlikeError*>(&error) != nullptr) return true;
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (own == nullptr) return false;
  switch (own->code()) {
    case ErrorCode::kArgument:
    case ErrorCode::kShape:
    case ErrorCode::kDtype:
    case ErrorCode::kRange:
    case ErrorCode::kState: return true;
    default: return false;
  }
}

void TensorParallel::report(const std::exception& error) const {
  if (!is_alike(error)) group_->report(error.what());
}

void TensorParallel::require_leader(const char* what) const {
  require(rank() == 0, ErrorCode::kState, what, ": rank ", rank(),
          " of a model under tensor parallelism does what rank 0 ", "does; call model.follow() there, and ", what,
          " on rank 0");
}

void TensorParallel::release() const {
  if (!is_split() || rank() > 0 || is_copy_ || leading_->is_released) return;
  tell({static_cast<int64_t>(Task::kClose)});
  leading_->is_released = true;
}

}  // namespace seekrl::model
