// An open-addressing table of pointers that never move: readers need no lock.
#include "search/words/lexicon.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "search/words/words.h"

namespace seekrl::search {

namespace {

constexpr size_t kBlockBytes = 1 << 18, kFirstSlots = 1 << 12;

constexpr bool is_inside_word(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '\'' || c >= 0x80;
}

// 0: part of a token, 1: a separator, 3: the first of three bytes that may be one.
constexpr std::array<uint8_t, 256> kByteKinds = [] {
  std::array<uint8_t, 256> kinds = {};
  for (size_t c = 0; c < kinds.size(); ++c) kinds[c] = is_inside_word(static_cast<unsigned char>(c)) ? 0 : 1;
  kinds[0xe2] = kinds[0xe3] = kinds[0xef] = 3;
  return kinds;
}();

bool is_space(unsigned char c) { return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20); }

bool is_wide_separator(const unsigned char* c) {
  if (c[0] == 0xe2) return c[1] == 0x80 && c[2] >= 0x90 && c[2] <= 0xa7 && c[2] != 0x99;
  if (c[0] == 0xe3) return c[1] == 0x80 && (c[2] == 0x81 || c[2] == 0x82);
  return c[1] == 0xbc && c[2] == 0x8c;
}

// Cuts the first line off.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

size_t separator_bytes(std::string_view text, Separators separators) {
  auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (separators == Separators::kSpaces) return is_space(bytes[0]) ? 1 : 0;
  const uint8_t kind = kByteKinds[bytes[0]];
  if (kind != 3) return kind;
  return text.size() >= 3 && is_wide_separator(bytes) ? 3 : 0;
}

Lexicon::Lexicon(Separators separators) : separators_(separators) {
  tables_.push_back(std::make_unique<Slots>(kFirstSlots));
  slots_ = tables_.back().get();
}

const Meaning* Lexicon::find_in(const Slots& slots, std::string_view token, uint64_t hash) {
  for (size_t i = hash & slots.mask;; i = (i + 1) & slots.mask) {
    const Meaning* meaning = slots.at[i].load(std::memory_order_acquire);
    if (meaning == nullptr || (meaning->hash == hash && meaning->token == token)) return meaning;
  }
}

void Lexicon::put(const Slots& slots, const Meaning* meaning) {
  size_t i = meaning->hash & slots.mask;
  while (slots.at[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & slots.mask;
  slots.at[i].store(meaning, std::memory_order_release);
}

const Meaning* Lexicon::find(std::string_view token) const {
  return find_in(*slots_.load(std::memory_order_acquire), token, hash_string(token));
}

const Meaning* Lexicon::learn(std::string_view token, const TokenTexts& texts) {
  const uint64_t hash = hash_string(token);
  std::lock_guard lock(mutex_);
  if (const Meaning* known = find_in(*slots_, token, hash)) return known;
  if (2 * ++num_meanings_ > tables_.back()->mask) grow();
  const Meaning* meaning = copy(token, texts, hash);
  put(*tables_.back(), meaning);
  return meaning;
}

void Lexicon::grow() {
  const Slots& old = *tables_.back();
  auto larger = std::make_unique<Slots>(4 * (old.mask + 1));
  for (size_t i = 0; i <= old.mask; ++i) {
    if (const Meaning* meaning = old.at[i]) put(*larger, meaning);
  }
  num_bytes_ += (larger->mask + 1) * sizeof(larger->at[0]);
  tables_.push_back(std::move(larger));
  slots_.store(tables_.back().get(), std::memory_order_release);
}

// From the end of the block to its front, so that one number says how much is left.
std::byte* Lexicon::allocate(size_t num_bytes) {
  num_bytes = (num_bytes + 7) & ~size_t{7};
  if (num_bytes > num_free_) {
    num_free_ = std::max(num_bytes, kBlockBytes);
    blocks_.push_back(std::make_unique<std::byte[]>(num_free_));
    num_bytes_ += num_free_;
  }
  num_free_ -= num_bytes;
  return blocks_.back().get() + num_free_;
}

const Meaning* Lexicon::copy(std::string_view token, const TokenTexts& texts, uint64_t hash) {
  const std::string_view words = texts.words;
  std::vector<uint64_t> hashes;
  const auto num_added = [&](std::string_view list) {
    const size_t before = hashes.size();
    for_each_word(list, [&](std::string_view term) { hashes.push_back(hash_term(term)); });
    return static_cast<uint32_t>(hashes.size() - before);
  };
  const uint32_t num_terms = num_added(texts.terms);
  const uint32_t num_letters = num_added(texts.letters);
  const uint32_t num_stops = num_added(texts.stops);
  const size_t num_term_bytes = hashes.size() * sizeof(uint64_t);
  std::byte* bytes = allocate(sizeof(Meaning) + num_term_bytes + token.size() + words.size());
  auto* own_terms = reinterpret_cast<uint64_t*>(bytes + sizeof(Meaning));
  auto* text = reinterpret_cast<char*>(bytes + sizeof(Meaning) + num_term_bytes);
  std::copy(hashes.begin(), hashes.end(), own_terms);
  std::copy(token.begin(), token.end(), text);
  std::copy(words.begin(), words.end(), text + token.size());
  const std::string_view own_token(text, token.size()), own_words(text + token.size(), words.size());
  return new (bytes) Meaning{hash, own_token, own_words, own_terms, num_terms, num_letters, num_stops};
}

CutTexts::CutTexts(std::shared_ptr<Lexicon> lexicon, int64_t num_texts)
    : lexicon_(std::move(lexicon)),
      texts_(static_cast<size_t>(num_texts)),
      num_title_(static_cast<size_t>(num_texts)) {}

void CutTexts::cut(int64_t i, std::string_view text) {
  auto& meanings = texts_[static_cast<size_t>(i)];
  for_each_token(text, lexicon_->separators(), [&](std::string_view token) {
    meanings.push_back(lexicon_->find(token));
    if (meanings.back() != nullptr) return;
    std::lock_guard lock(mutex_);
    const auto [entry, is_first] = unknown_.try_emplace(std::string(token));
    if (is_first) order_.push_back(&entry->first);
    entry->second.push_back({static_cast<size_t>(i), meanings.size() - 1});
  });
}

void CutTexts::cut_title(int64_t i, std::string_view title) {
  cut(i, title);
  num_title_[static_cast<size_t>(i)] = meanings(i).size();
}

std::string CutTexts::unknown() {
  std::string tokens;
  for (const std::string* token : order_) {
    if (!tokens.empty()) tokens += '\n';
    tokens += *token;
  }
  return tokens;
}

void CutTexts::learn(const TokenTexts& lines) {
  for (const auto& list : {lines.words, lines.terms, lines.letters, lines.stops}) {
    const auto num_lines = static_cast<size_t>(std::count(list.begin(), list.end(), '\n')) + 1;
    require(num_lines == order_.size(), ErrorCode::kArgument, "lexicon: expected ", order_.size(), " lines, got ",
            num_lines);
  }
  TokenTexts left = lines;
  for (const std::string* token : order_) {
    const TokenTexts own = {take_line(left.words), take_line(left.terms), take_line(left.letters),
                            take_line(left.stops)};
    const Meaning* meaning = lexicon_->learn(*token, own);
    for (const auto [text, at] : unknown_[*token]) texts_[text][at] = meaning;
  }
  order_.clear();
  unknown_.clear();
}

}  // namespace seekrl::search
