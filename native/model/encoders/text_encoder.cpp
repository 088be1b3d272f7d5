// Plain work on lists of texts.
#include "model/encoders/text_encoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace seekrl::model {

void check(const TextBatch& batch) {
  const auto num_tokens = static_cast<int64_t>(batch.ids.size());
  const bool is_whole = !batch.starts.empty() && batch.starts.front() == 0 && batch.starts.back() == num_tokens;
  require(is_whole, ErrorCode::kShape, "texts: expected starts from 0 to ", num_tokens);
  for (int64_t text = 0; text < batch.num_texts(); ++text) {
    require(batch.length(text) > 0, ErrorCode::kShape, "texts: text ", text, " has no tokens");
  }
  require(batch.types.empty() || batch.types.size() == batch.ids.size(), ErrorCode::kShape, "texts: expected ",
          num_tokens, " types, got ", batch.types.size());
}

TextBatch select(const TextBatch& batch, const std::vector<int64_t>& texts) {
  TextBatch chosen;
  chosen.starts.push_back(0);
  for (const int64_t text : texts) {
    const int64_t first = batch.starts[text], end = batch.starts[text + 1];
    chosen.ids.insert(chosen.ids.end(), batch.ids.begin() + first, batch.ids.begin() + end);
    if (!batch.types.empty()) {
      chosen.types.insert(chosen.types.end(), batch.types.begin() + first, batch.types.begin() + end);
    }
    chosen.starts.push_back(static_cast<int64_t>(chosen.ids.size()));
  }
  return chosen;
}

std::vector<std::vector<int64_t>> cut(const TextBatch& batch, int64_t max_tokens) {
  std::vector<int64_t> order(static_cast<size_t>(batch.num_texts()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return batch.length(a) > batch.length(b); });
  std::vector<std::vector<int64_t>> parts;
  int64_t num_tokens = max_tokens;
  for (const int64_t text : order) {
    if (num_tokens + batch.length(text) > max_tokens) {
      parts.emplace_back();
      num_tokens = 0;
    }
    parts.back().push_back(text);
    num_tokens += batch.length(text);
  }
  return parts;
}

void pool_rows(float* out_D, const float* rows_LD, int64_t length, int64_t d, Pooling pooling) {
  if (pooling != Pooling::kMean) {
    std::copy_n(rows_LD + (pooling == Pooling::kLast ? length - 1 : 0) * d, d, out_D);
    return;
  }
  std::fill_n(out_D, d, 0.0f);
  for (int64_t row = 0; row < length; ++row) {
    for (int64_t i = 0; i < d; ++i) out_D[i] += rows_LD[row * d + i];
  }
  for (int64_t i = 0; i < d; ++i) out_D[i] /= static_cast<float>(length);
}

void normalise(float* x, int64_t size) {
  double squares = 0;
  for (int64_t i = 0; i < size; ++i) squares += static_cast<double>(x[i]) * x[i];
  if (squares == 0) return;
  const auto scale = static_cast<float>(1.0 / std::sqrt(squares));
  for (int64_t i = 0; i < size; ++i) x[i] *= scale;
}

}  // namespace seekrl::model
