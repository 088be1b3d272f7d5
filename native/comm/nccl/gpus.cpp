// A communicator that never blocks, and the thread that aborts it when a rank is gone.
#include "comm/nccl/gpus.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <condition_variable>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace seekrl::comm::nccl {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{200};
constexpr milliseconds kSoon{1};

Dtype dtype_of(const at::Tensor& x) {
  switch (x.scalar_type()) {
    case at::kChar: return Dtype::kInt8;
    case at::kByte: return Dtype::kUint8;
    case at::kInt: return Dtype::kInt32;
    case at::kLong: return Dtype::kInt64;
    case at::kHalf: return Dtype::kHalf;
    case at::kFloat: return Dtype::kFloat;
    case at::kDouble: return Dtype::kDouble;
    case at::kBFloat16: return Dtype::kBFloat16;
    default: fail(ErrorCode::kDtype, "NCCL: expected numbers that can be summed, got ", x.scalar_type());
  }
}

}  // namespace

struct Gpus::State {
  State(const Library& opened, Failure asked) : library(opened), failure(std::move(asked)) {}

  const Library& library;
  Failure failure;
  std::mutex mutex;
  std::condition_variable stopping;
  bool is_stopped = false;
  Communicator* communicator = nullptr;
  std::optional<std::pair<ErrorCode, std::string>> error;

  // With the mutex held: notes the first error and ends what waits on the GPU.
  void give_up(ErrorCode code, const std::string& why) {
    if (!error) error = {code, why};
    if (communicator != nullptr) library.abort(std::exchange(communicator, nullptr));
  }
  void give_up(Result result) {
    const ErrorCode code = result == Result::kRemoteError ? ErrorCode::kRemote : ErrorCode::kDevice;
    give_up(code, std::string("NCCL: ") + library.error_string(result));
  }
  void look() {
    if (error || communicator == nullptr) return;
    if (const auto found = failure()) return give_up(ErrorCode::kRemote, *found);
    Result result = Result::kSuccess;
    library.async_error(communicator, &result);
    if (result != Result::kSuccess && result != Result::kInProgress) give_up(result);
  }
  void require_whole() const {
    if (error) fail(error->first, error->second);
  }
  // A call that is not done yet; others may hold the mutex in between.
  void settle(std::unique_lock<std::mutex>& lock, Result result) {
    while (result == Result::kInProgress && !error) {
      stopping.wait_for(lock, kSoon);
      look();
      if (!error) library.async_error(communicator, &result);
    }
    if (result != Result::kSuccess && result != Result::kInProgress && !error) give_up(result);
    require_whole();
  }
  void run() {
    std::unique_lock lock(mutex);
    while (!stopping.wait_for(lock, kLook, [this] { return is_stopped; })) look();
  }
};

UniqueId Gpus::unique_id(at::Device device) {
  const Library& found = library(device.type());
  UniqueId id{};
  const Result result = found.unique_id(&id);
  require(result == Result::kSuccess, ErrorCode::kDevice, "NCCL: ", found.error_string(result));
  return id;
}

Gpus::Gpus(at::Device device, int rank, int size, const UniqueId& id, Failure failure)
    : device_(device),
      size_(size),
      library_(library(device.type())),
      moving_(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, true)),
      state_(std::make_shared<State>(library_, std::move(failure))) {
  const c10::DeviceGuard guard(device);
  {
    std::unique_lock lock(state_->mutex);
    Config config;
    state_->settle(lock, library_.init(&state_->communicator, size, id, rank, &config));
  }
  guard_ = std::thread([state = state_] { state->run(); });
}

// Without a talk with the other ranks, who have left or are gone; then the thread ends what is waited for here. A GPU
// that has failed has nothing under way.
Gpus::~Gpus() {
  try {
    if (last_ != nullptr) last_->synchronize();
  } catch (const c10::Error&) {
  }
  {
    std::lock_guard lock(state_->mutex);
    state_->is_stopped = true;
    if (state_->communicator != nullptr) library_.abort(std::exchange(state_->communicator, nullptr));
  }
  state_->stopping.notify_all();
  guard_.join();
}

// call: given the communicator and the stream.
template <class Call>
Gpus::Work Gpus::begun(const std::vector<at::Tensor>& tensors, Call call) {
  const c10::DeviceGuard guard(device_);
  const c10::impl::VirtualGuardImpl device(device_.type());
  c10::Event ready(device_.type());
  ready.record(device.getStream(device_));
  ready.block(moving_);
  std::unique_lock lock(state_->mutex);
  state_->require_whole();
  state_->settle(lock, call(state_->communicator, device.getStreamNativeHandle(moving_)));
  // The allocator gives their memory to nobody before the stream has come so far.
  for (const at::Tensor& each : tensors) device.recordDataPtrOnStream(each.storage().data_ptr(), moving_);
  last_ = std::make_shared<c10::Event>(device_.type());
  last_->record(moving_);
  return last_;
}

Gpus::Work Gpus::all_reduce(const at::Tensor& tensor) {
  return begun({tensor}, [&](Communicator* communicator, void* stream) {
    return library_.all_reduce(tensor.const_data_ptr(), tensor.mutable_data_ptr(), tensor.numel(), dtype_of(tensor),
                               Reduction::kSum, communicator, stream);
  });
}

Gpus::Work Gpus::reduce_scatter(const at::Tensor& own, const at::Tensor& all) {
  return begun({own, all}, [&](Communicator* communicator, void* stream) {
    return library_.reduce_scatter(all.const_data_ptr(), own.mutable_data_ptr(), own.numel(), dtype_of(own),
                                   Reduction::kSum, communicator, stream);
  });
}

Gpus::Work Gpus::all_gather(const at::Tensor& all, const at::Tensor& own) {
  return begun({all, own}, [&](Communicator* communicator, void* stream) {
    return library_.all_gather(own.const_data_ptr(), all.mutable_data_ptr(), own.numel(), dtype_of(own), communicator,
                               stream);
  });
}

Gpus::Work Gpus::broadcast(const at::Tensor& tensor, int root) {
  return begun({tensor}, [&](Communicator* communicator, void* stream) {
    return library_.broadcast(tensor.const_data_ptr(), tensor.mutable_data_ptr(), tensor.numel(), dtype_of(tensor),
                              root, communicator, stream);
  });
}

// An even part for each of the peers.
Gpus::Work Gpus::exchange(const at::Tensor& to, const at::Tensor& from, const std::vector<int>& peers) {
  return begun({to, from}, [&](Communicator* communicator, void* stream) {
    const size_t size = from.nbytes() / peers.size();
    const auto* sent = static_cast<const char*>(from.const_data_ptr());
    auto* received = static_cast<char*>(to.mutable_data_ptr());
    std::vector<Result> results;
    library_.group_start();
    for (const int peer : peers) {
      results.push_back(library_.send(sent, size, Dtype::kUint8, peer, communicator, stream));
      results.push_back(library_.receive(received, size, Dtype::kUint8, peer, communicator, stream));
      sent += size;
      received += size;
    }
    const Result together = library_.group_end();
    for (const Result result : results) {
      if (result != Result::kSuccess && result != Result::kInProgress) return result;
    }
    return together;
  });
}

Gpus::Work Gpus::swap(const at::Tensor& sent, const at::Tensor& received, int peer) {
  return exchange(received, sent, {peer});
}

Gpus::Work Gpus::all_to_all(const at::Tensor& to, const at::Tensor& from) {
  std::vector<int> all(size_);
  std::iota(all.begin(), all.end(), 0);
  return exchange(to, from, all);
}

void Gpus::require_whole() const {
  std::lock_guard lock(state_->mutex);
  state_->require_whole();
}

void Gpus::finish() const {
  if (last_ != nullptr) last_->synchronize();
  require_whole();
}

void Gpus::wait(const Work& work) const {
  require_whole();
  work->block(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
}

}  // namespace seekrl::comm::nccl
