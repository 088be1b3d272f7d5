// Buffers that are large and short-lived, and whose memory somebody else is to have next.
#pragma once

namespace seekrl::train {

// While one lives, what this process allocates in a MiB or more comes from the system by itself and goes back when it
// is freed, whenever that is. glibc keeps what is smaller than the largest that was ever freed, up to 32 MiB, for the
// next one who asks: right for activations, of which every layer has the same, but of buffers between them it keeps as
// much as ranks save by sharing out. One thread has them.
class ReturnedMemory {
 public:
  ReturnedMemory();
  ~ReturnedMemory();
  ReturnedMemory(const ReturnedMemory&) = delete;
  ReturnedMemory& operator=(const ReturnedMemory&) = delete;
};

// What the allocator holds and nobody uses.
void return_idle_memory();

}  // namespace seekrl::train
