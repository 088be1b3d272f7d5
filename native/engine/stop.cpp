// Knuth, Morris and Pratt over a handful of strings at once.
#include "engine/stop.h"

#include <utility>

#include "base/error.h"

namespace seekrl::engine {

namespace {

std::vector<int32_t> borders_of(const std::string& text) {
  std::vector<int32_t> borders(text.size(), 0);
  for (size_t i = 1; i < text.size(); ++i) {
    int32_t border = borders[i - 1];
    while (border > 0 && text[border] != text[i]) border = borders[border - 1];
    borders[i] = text[border] == text[i] ? border + 1 : 0;
  }
  return borders;
}

}  // namespace

std::string_view TokenBytes::of(int64_t token) const {
  if (token < 0 || token + 1 >= static_cast<int64_t>(starts.size())) return {};
  return {bytes.data() + starts[token], static_cast<size_t>(starts[token + 1] - starts[token])};
}

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  for (const auto& text : strings_) {
    require(!text.empty(), ErrorCode::kArgument, "stop: expected strings that are not empty");
    borders_.push_back(borders_of(text));
  }
}

int32_t StopStrings::advance(size_t index, int32_t matched, char byte) const {
  const std::string& text = strings_[index];
  const std::vector<int32_t>& borders = borders_[index];
  if (matched == static_cast<int32_t>(text.size())) matched = borders[matched - 1];
  while (matched > 0 && text[matched] != byte) matched = borders[matched - 1];
  return text[matched] == byte ? matched + 1 : 0;
}

void StopMatcher::reset(const StopStrings* strings) {
  strings_ = strings;
  matched_.assign(strings == nullptr ? 0 : strings->size(), 0);
}

std::optional<StopMatch> StopMatcher::push(std::string_view bytes) {
  if (matched_.empty()) return std::nullopt;
  for (size_t at = 0; at < bytes.size(); ++at) {
    int32_t found = -1;
    for (size_t s = 0; s < matched_.size(); ++s) {
      matched_[s] = strings_->advance(s, matched_[s], bytes[at]);
      const bool is_whole = matched_[s] == strings_->length(s);
      if (is_whole && (found < 0 || strings_->length(s) > strings_->length(found))) found = static_cast<int32_t>(s);
    }
    if (found >= 0) return StopMatch{found, static_cast<int32_t>(bytes.size() - at - 1)};
  }
  return std::nullopt;
}

}  // namespace seekrl::engine
