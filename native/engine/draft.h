// Prompt-lookup decoding (A. Saxena, 2023): what followed the last tokens where they stood before is run with them, and
// kept as far as the draws agree. Draws are keyed by position, so the tokens are those of plain decoding.
#pragma once

#include <cstdint>
#include <vector>

namespace seekrl::engine {

// Which tokens a sequence's next step runs ahead of their draws, and whether that has paid of late.
class Draft {
 public:
  // The next step may draft so many tokens, or fewer.
  void allow(int64_t most) { most_ = most; }
  void stop() { most_ = 0; }

  // Appends to the tokens what follows the latest place where the last three of them stood before.
  void extend(std::vector<int64_t>& tokens);
  // Takes off what extend() appended and returns it.
  std::vector<int64_t> take_off(std::vector<int64_t>& tokens);
  // So many of the tokens that were taken off agreed with the draws.
  void learn(int64_t num_drafted, int64_t num_accepted);

  int64_t num_tokens() const { return num_tokens_; }

 private:
  int64_t most_ = 0;
  int64_t num_tokens_ = 0;       // appended
  int64_t length_ = 2;           // of the next draft: doubled by one that was right, else what was right of the last
  double share_accepted_ = 0.5;  // recent drafts count more
  int64_t num_to_skip_ = 0;      // steps without a draft, after drafts that did not pay
};

}  // namespace seekrl::engine
