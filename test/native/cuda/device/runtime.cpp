// What libtorch asks of a device beside memory and operators: streams, events. As for CUDA, it has no graphs.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "device/memory.h"
#include "device/stream.h"

namespace seekrl::emulator {

namespace {

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  static constexpr c10::DeviceType static_type = kType;
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  c10::Device getDevice() const override { return {kType, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream stream(c10::StreamId id) const { return c10::Stream(c10::Stream::UNSAFE, getDevice(), id); }
  c10::Stream getStream(c10::Device) const override { return stream(current_stream); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(0); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return stream(1); }
  c10::Stream exchangeStream(c10::Stream to) const override { return stream(std::exchange(current_stream, to.id())); }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return native_stream(stream.id()); }
  void synchronizeStream(const c10::Stream&) const override {
    note_wait("stream");
    finish();
  }
  void synchronizeDevice(c10::DeviceIndex) const override {
    note_wait("device");
    finish();
  }
  bool isStreamCapturing(const c10::Stream&) const override { return recording() != nullptr; }

  // An event is the ticket of what came before it.
  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) *event = new int64_t;
    ticket(*event) = last_ticket();
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override { delete static_cast<int64_t*>(event); }
  void block(void*, const c10::Stream&) const override {}
  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    note_wait("event");
    finish_until(ticket(event));
  }
  // Whoever asks often enough gets it.
  bool queryEvent(void* event) const override {
    if (event != nullptr) finish_until(ticket(event));
    return true;
  }

 private:
  static int64_t& ticket(void* event) { return *static_cast<int64_t*>(event); }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_memory(); }
};

const bool is_registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);  // lives as long as the process
  at::setHostAllocator(kType, &pinned_memory());
  return true;
}();

}  // namespace

}  // namespace seekrl::emulator
