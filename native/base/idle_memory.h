// Memory that one kind of work keeps for its next turn and gives back to the system when another kind has its turn:
// keys and values while training, activations while generating.
#pragma once

#include <functional>

namespace seekrl {

enum class Work { kGenerate, kTrain };

// A holder of such memory, for as long as it lives.
class IdleMemory {
 public:
  // `release` gives back what is not in use; it is called on the thread that enters the other work.
  IdleMemory(Work work, std::function<void()> release);
  ~IdleMemory();
  IdleMemory(const IdleMemory&) = delete;
  IdleMemory& operator=(const IdleMemory&) = delete;

 private:
  friend void enter(Work);
  Work work_;
  std::function<void()> release_;
};

// Says what this thread does from now on; where that was another work until now, the holders of others give back.
void enter(Work work);

}  // namespace seekrl
