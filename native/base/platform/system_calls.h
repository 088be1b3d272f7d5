// What Linux and macOS do by different calls: room on the disk, flushing, memory that goes back, sockets.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace seekrl {

// Takes room on the disk for a file of so many bytes, which read as zero. Returns errno's number, 0 when it is there.
int allocate_room(int descriptor, size_t num_bytes);

// Returns when what was written is on the disk, not in its cache. As fsync: -1 and errno where it fails.
int flush_to_disk(int descriptor);

// Gives whole pages of anonymous memory back to the system: they are zero when touched again.
void discard_pages(void* first, size_t num_bytes);

// Has the allocator, where it can be told, take what is of so many bytes or more from the system by itself and give it
// back when it is freed; keep at most so many bytes free of what is smaller; give back now what nobody uses.
void set_mapped_threshold(int num_bytes);
void set_trim_threshold(int num_bytes);
void trim_heap();

// Files, sockets and whatever else this process has open.
std::vector<int> open_descriptors();

// Has the system end a connection of TCP whose other end acknowledges nothing for `patience`.
void end_when_silent(int socket_id, std::chrono::milliseconds patience);

}  // namespace seekrl
