// Variable-length integers to and from a file.
#include "search/words/bm25_runs.h"

#include <algorithm>

namespace seekrl::search {

namespace {

constexpr size_t kWriteBytes = 1 << 20, kReadBytes = 1 << 17;

}  // namespace

void Bm25Runs::put_number(uint64_t number) {
  for (; number >= 0x80; number >>= 7) buffer_.push_back(static_cast<uint8_t>(number | 0x80));
  buffer_.push_back(static_cast<uint8_t>(number));
}

void Bm25Runs::write(uint64_t term, const RawPosting* postings, size_t count) {
  for (int shift = 0; shift < 64; shift += 8) buffer_.push_back(static_cast<uint8_t>(term >> shift));
  put_number(count);
  uint32_t previous = 0;
  for (size_t i = 0; i < count; ++i) {
    put_number(postings[i].passage - previous);
    put_number(postings[i].pair);
    previous = postings[i].passage;
    if (buffer_.size() >= kWriteBytes) flush();
  }
}

void Bm25Runs::flush() {
  file_.append(buffer_.data(), buffer_.size());
  buffer_.clear();
}

std::vector<std::unique_ptr<Bm25Runs::Reader>> Bm25Runs::readers() {
  std::vector<std::unique_ptr<Reader>> readers;
  for (size_t run = 0; run < starts_.size(); ++run) {
    const int64_t end = run + 1 < starts_.size() ? starts_[run + 1] : file_.size();
    auto reader = std::make_unique<Reader>(file_, starts_[run], end);
    if (reader->next_term()) readers.push_back(std::move(reader));
  }
  return readers;
}

uint8_t Bm25Runs::Reader::byte() {
  if (at_ == buffer_.size()) {
    buffer_.resize(std::min<size_t>(kReadBytes, static_cast<size_t>(end_ - next_)));
    file_.read(next_, buffer_.data(), buffer_.size());
    next_ += static_cast<int64_t>(buffer_.size());
    at_ = 0;
  }
  return buffer_[at_++];
}

uint64_t Bm25Runs::Reader::number() {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t next = byte();
    number |= static_cast<uint64_t>(next & 0x7f) << shift;
    if (next < 0x80) return number;
  }
}

bool Bm25Runs::Reader::next_term() {
  if (at_ == buffer_.size() && next_ == end_) return false;
  term_ = 0;
  for (int shift = 0; shift < 64; shift += 8) term_ |= static_cast<uint64_t>(byte()) << shift;
  return true;
}

void Bm25Runs::Reader::take(std::vector<RawPosting>& postings) {
  const uint64_t count = number();
  uint32_t passage = 0;
  for (uint64_t i = 0; i < count; ++i) {
    passage += static_cast<uint32_t>(number());
    postings.push_back({passage, static_cast<uint32_t>(number())});
  }
}

}  // namespace seekrl::search
