// What the raw tokens of text mean: folded words and search terms, learnt once from TypeScript, where the rules are.
// Two sorts of terms are kept apart. Letters stand within longer terms (of scripts without spaces) and add nothing to a
// passage's length; stop words count in titles, and in queries that have no other words.
//
// A raw token is a run of bytes between separators. The rules (folding accents and case, dropping articles) never look
// across a separator, so the words of a text are the words of its raw tokens, one after another.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace seekrl::search {

// Where raw tokens end. kWords: ASCII other than letters, digits and the apostrophe; U+2010 to U+2027 (dashes,
// quotation marks, ellipses) but for the apostrophe U+2019; the Chinese and Japanese comma and full stop U+3001,
// U+3002, U+FF0C. kSpaces: ASCII's white space and the separators U+001C to U+001F.
enum class Separators { kWords, kSpaces };

// The bytes of the separator at the front of non-empty UTF-8, or 0.
size_t separator_bytes(std::string_view text, Separators separators);

template <class Use>
void for_each_token(std::string_view text, Separators separators, Use use) {
  size_t begin = 0, at = 0;
  while (at < text.size()) {
    const size_t num_bytes = separator_bytes(text.substr(at), separators);
    if (num_bytes > 0 && at > begin) use(text.substr(begin, at - begin));
    at += std::max<size_t>(num_bytes, 1);
    if (num_bytes > 0) begin = at;
  }
  if (at > begin) use(text.substr(begin));
}

// One raw token. The bytes behind it belong to the lexicon and live as long.
struct Meaning {
  uint64_t hash;
  std::string_view token;
  std::string_view words;  // with one space between
  const uint64_t* terms;   // hash_term of each; then those of letters, then those of stop words
  uint32_t num_terms, num_letters, num_stops;
};

template <class Use>
void for_each_term(const std::vector<const Meaning*>& text, Use use) {
  for (const Meaning* meaning : text) std::for_each_n(meaning->terms, meaning->num_terms, use);
}

// Terms and letters, those of a token together; returns how many letters there were.
template <class Use>
size_t for_each_term_or_letter(const std::vector<const Meaning*>& text, Use use) {
  size_t num_letters = 0;
  for (const Meaning* meaning : text) {
    std::for_each_n(meaning->terms, meaning->num_terms + meaning->num_letters, use);
    num_letters += meaning->num_letters;
  }
  return num_letters;
}

// The stop words of the first `num_meanings`.
template <class Use>
void for_each_stop(const std::vector<const Meaning*>& text, size_t num_meanings, Use use) {
  for (size_t i = 0; i < num_meanings; ++i) {
    const Meaning& meaning = *text[i];
    std::for_each_n(meaning.terms + meaning.num_terms + meaning.num_letters, meaning.num_stops, use);
  }
}

// What is learnt of a token: each a list with one space between.
struct TokenTexts {
  std::string_view words, terms, letters, stops;
};

// Grows only. Any number of threads may read while others learn.
class Lexicon {
 public:
  explicit Lexicon(Separators separators);

  Separators separators() const { return separators_; }

  // Null for a token that nobody has learnt.
  const Meaning* find(std::string_view token) const;
  // Gives what is known already if another thread was first.
  const Meaning* learn(std::string_view token, const TokenTexts& texts);

  size_t num_bytes() const { return num_bytes_; }

 private:
  struct Slots {
    explicit Slots(size_t count) : mask(count - 1), at(new std::atomic<const Meaning*>[count]()) {}
    size_t mask;
    std::unique_ptr<std::atomic<const Meaning*>[]> at;
  };
  static const Meaning* find_in(const Slots& slots, std::string_view token, uint64_t hash);
  static void put(const Slots& slots, const Meaning* meaning);
  std::byte* allocate(size_t num_bytes);
  const Meaning* copy(std::string_view token, const TokenTexts& texts, uint64_t hash);
  void grow();

  const Separators separators_;
  std::atomic<const Slots*> slots_;
  std::atomic<size_t> num_bytes_{0};
  std::mutex mutex_;                                  // of everything below
  std::vector<std::unique_ptr<const Slots>> tables_;  // outgrown ones too: a reader may still be in them
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  size_t num_free_ = 0, num_meanings_ = 0;
};

// Texts as lists of meanings. Several threads may cut different texts; then the unknown tokens are learnt, once, and
// from there on everything may be read.
class CutTexts {
 public:
  CutTexts(std::shared_ptr<Lexicon> lexicon, int64_t num_texts);

  // Appends to text `i`, as if behind a separator; a title comes first.
  void cut(int64_t i, std::string_view text);
  void cut_title(int64_t i, std::string_view title);
  // The tokens that the lexicon lacks, each once, with line feeds between; empty when it lacks none.
  std::string unknown();
  // What each of them means in that order, with line feeds between.
  void learn(const TokenTexts& lines);

  int64_t count() const { return static_cast<int64_t>(texts_.size()); }
  const std::vector<const Meaning*>& meanings(int64_t i) const { return texts_[static_cast<size_t>(i)]; }
  // How many of its meanings are its title's.
  size_t num_title(int64_t i) const { return num_title_[static_cast<size_t>(i)]; }

 private:
  struct Place {
    size_t text, at;
  };

  std::shared_ptr<Lexicon> lexicon_;
  std::vector<std::vector<const Meaning*>> texts_;
  std::vector<size_t> num_title_;
  std::mutex mutex_;  // of `unknown_` and `order_`
  std::unordered_map<std::string, std::vector<Place>> unknown_;
  std::vector<const std::string*> order_;
};

}  // namespace seekrl::search
