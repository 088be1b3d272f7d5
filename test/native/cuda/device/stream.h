// The emulated GPU's one stream: what is asked of it is done when somebody waits for it, as late as a GPU may.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace seekrl::emulator {

using Work = std::function<void()>;

// Streams have numbers, and one order. This thread's:
inline thread_local int64_t current_stream = 0;
inline void* native_stream(int64_t id) { return reinterpret_cast<void*>(id); }

// What is given to nobody else while it lives.
using KeptMemory = std::vector<std::shared_ptr<void>>;

// What a graph does at each replay, in memory that was made while it was captured.
struct Recording {
  std::vector<Work> works;
  std::shared_ptr<KeptMemory> memory;
  bool is_invalid = false;  // what was asked for cannot be captured
};

// To be done in this order; recorded instead while a graph is captured, until something cannot be, which throws; at
// once by work itself. From any thread.
void submit(Work work);

// Waits until all that was submitted is done, or all before a ticket. Throws the first error of it. Nobody may wait
// while a graph is captured; work itself waits for nothing, for it is its turn.
void finish();
void finish_until(int64_t ticket);
// Of what is submitted last; what is later has greater ones.
int64_t last_ticket();
// What was submitted until now is done soon, whether somebody here waits for it or not: others do. An error of it is
// the next waiter's. From any thread.
void go_on();

// That the host would wait for a real GPU here: a line in the file that SEEKRL_EMULATED_WAITS names, where it does.
void note_wait(const std::string& what);

// Whether SEEKRL_EMULATED_GRAPH_FAULT says that graphs fail there: `library`, `begin`, `launch`, `end` or `replay`.
// Whether a variable of the environment plants this fault.
bool is_planted(const char* variable, const std::string& fault);
inline constexpr const char* kGraphFault = "SEEKRL_EMULATED_GRAPH_FAULT";

void begin_recording(const std::shared_ptr<Recording>& recording);
std::shared_ptr<Recording> end_recording();
// The one in progress, or null.
Recording* recording();

}  // namespace seekrl::emulator
