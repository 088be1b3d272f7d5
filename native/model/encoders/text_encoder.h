// What turns token ids into one vector per text, whatever the model's family.
#pragma once

#include <cstdint>
#include <vector>

namespace seekrl::model {

// Which rows of the last layer become a text's vector. `kScore` is a classifier's one number.
enum class Pooling { kCls, kMean, kLast, kScore };

// Texts laid end to end, without padding.
struct TextBatch {
  std::vector<int64_t> ids;     // [T]
  std::vector<int64_t> types;   // [T] segment of each token; empty: all 0
  std::vector<int64_t> starts;  // [S + 1] offsets into ids
  int64_t num_texts() const { return static_cast<int64_t>(starts.size()) - 1; }
  int64_t length(int64_t text) const { return starts[text + 1] - starts[text]; }
};

// ERR_SHAPE for starts that do not ascend from 0 to T, or an empty text.
void check(const TextBatch& batch);

// The texts of `batch` in the order of `texts`.
TextBatch select(const TextBatch& batch, const std::vector<int64_t>& texts);

// Cuts a batch into lists of texts of about equal length, longest first, each of at most `max_tokens` tokens or one
// text.
std::vector<std::vector<int64_t>> cut(const TextBatch& batch, int64_t max_tokens);

// One vector from the `length` rows of a text: the first, the last, or their mean.
void pool_rows(float* out_D, const float* rows_LD, int64_t length, int64_t d, Pooling pooling);

// x / |x| over `size` floats; zeros stay zeros.
void normalise(float* x, int64_t size);

class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  // Width of a text's vector.
  virtual int64_t dim() const = 0;

  // Writes [num_texts, dim] floats. A text's vector does not depend on the others. num_helpers: threads of the claim
  // pool that may help. Throws ERR_RANGE for an id or a length the model does not have.
  virtual void encode(const TextBatch& batch, float* out, int num_helpers) const = 0;

  // Whether several threads may call `encode` at once.
  virtual bool is_concurrent() const = 0;

  // Whether it is made and run on the device's thread.
  virtual bool is_on_gpu() const { return false; }
};

}  // namespace seekrl::model
