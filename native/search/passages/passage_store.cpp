// Records go out as they come; the table of offsets follows when the last one is known.
#include "search/passages/passage_store.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"

namespace seekrl::search {

namespace {

constexpr BlobKind kKind = {'P', 'A', 'S', 'S'};
constexpr size_t kLengthsAtOnce = 1 << 16;
constexpr int64_t kMaxPassages = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMaxRecordBytes = std::numeric_limits<uint32_t>::max();

constexpr int64_t rounded_up(int64_t num_bytes) { return (num_bytes + 7) / 8 * 8; }

// Appends `value` to the bytes at `at`; returns the end.
uint8_t* put_varint(uint8_t* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<uint8_t>(value | 0x80);
  *at++ = static_cast<uint8_t>(value);
  return at;
}

// Takes a number off the front of `bytes`; ERR_FORMAT when they end within it.
uint64_t take_varint(std::string_view& bytes, const std::string& path) {
  uint64_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    require(!bytes.empty(), ErrorCode::kFormat, path, ": a passage's record ends early, the file is damaged");
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail(ErrorCode::kFormat, path, ": a passage's length is out of bounds, the file is damaged");
}

std::string_view take(std::string_view& bytes, uint64_t num_bytes) {
  const auto taken = bytes.substr(0, num_bytes);
  bytes.remove_prefix(taken.size());
  return taken;
}

}  // namespace

PassageWriter::PassageWriter(const std::string& path) : blob_(path, kKind), lengths_(path) {
  recent_lengths_.reserve(kLengthsAtOnce);
}

void PassageWriter::add(const PassageView& passage) {
  require(!is_finished_, ErrorCode::kState, "passages: the writer has finished");
  require(count_ < kMaxPassages, ErrorCode::kRange, "passages: expected at most ", kMaxPassages);
  std::array<uint8_t, 20> lengths;
  uint8_t* end = put_varint(put_varint(lengths.data(), passage.id.size()), passage.title.size());
  const auto num_length_bytes = static_cast<size_t>(end - lengths.data());
  const uint64_t num_bytes = num_length_bytes + passage.id.size() + passage.title.size() + passage.text.size();
  require(num_bytes <= kMaxRecordBytes, ErrorCode::kRange, "passage ", count_, ": expected at most ", kMaxRecordBytes,
          " bytes, got ", num_bytes);
  blob_.write(lengths.data(), num_length_bytes);
  for (const auto part : {passage.id, passage.title, passage.text}) blob_.write(part.data(), part.size());
  recent_lengths_.push_back(static_cast<uint32_t>(num_bytes));
  if (recent_lengths_.size() == kLengthsAtOnce) {
    lengths_.append(recent_lengths_.data(), recent_lengths_.size() * sizeof(uint32_t));
    recent_lengths_.clear();
  }
  num_bytes_ += static_cast<int64_t>(num_bytes);
  ++count_;
}

void PassageWriter::write_table() {
  std::vector<uint32_t> lengths(kLengthsAtOnce);
  std::vector<uint64_t> offsets = {0};
  uint64_t offset = 0;
  const auto write_offsets = [&] {
    for (const uint32_t length : lengths) offsets.push_back(offset += length);
    blob_.write(offsets);
    offsets.clear();
  };
  constexpr auto kChunkBytes = static_cast<int64_t>(kLengthsAtOnce * sizeof(uint32_t));
  for (int64_t at = 0; at < lengths_.size(); at += kChunkBytes) {
    lengths_.read(at, lengths.data(), static_cast<size_t>(kChunkBytes));
    write_offsets();
  }
  lengths = recent_lengths_;
  write_offsets();
}

void PassageWriter::finish() {
  require(!is_finished_, ErrorCode::kState, "passages: the writer has finished");
  is_finished_ = true;
  const std::array<std::byte, 8> padding = {};
  const int64_t table = rounded_up(num_bytes_);
  blob_.write(padding.data(), static_cast<size_t>(table - num_bytes_));
  write_table();
  blob_.finish({count_, table});
}

PassageStore::PassageStore(const std::string& path, Verify verify) : path_(path), blob_(path, kKind, verify) {
  count_ = blob_.numbers()[0];
  const int64_t table = blob_.numbers()[1];
  const auto num_bytes = static_cast<int64_t>(blob_.payload_bytes());
  const bool fits = count_ >= 0 && count_ <= kMaxPassages && table >= 0 && table % 8 == 0 && table <= num_bytes &&
                    num_bytes - table == (count_ + 1) * 8;
  require(fits, ErrorCode::kFormat, path, ": ", count_, " passages do not fit into ", num_bytes, " bytes");
  offsets_ = reinterpret_cast<const uint64_t*>(blob_.payload() + table);
  num_record_bytes_ = table;
}

PassageView PassageStore::at(int64_t index) const {
  require(index >= 0 && index < count_, ErrorCode::kRange, "passage: expected 0 to ", count_ - 1, ", got ", index);
  const uint64_t begin = offsets_[index];
  const uint64_t end = offsets_[index + 1];
  const auto is_inside = begin <= end && end <= static_cast<uint64_t>(num_record_bytes_);
  require(is_inside, ErrorCode::kFormat, path_, ": passage ", index, " is out of bounds, the file is damaged");
  std::string_view rest(reinterpret_cast<const char*>(blob_.payload()) + begin, end - begin);
  const uint64_t num_id_bytes = take_varint(rest, path_);
  const uint64_t num_title_bytes = take_varint(rest, path_);
  require(num_id_bytes <= rest.size() && num_title_bytes <= rest.size() - num_id_bytes, ErrorCode::kFormat, path_,
          ": passage ", index, " is longer than its record, the file is damaged");
  const auto id = take(rest, num_id_bytes);
  const auto title = take(rest, num_title_bytes);
  return {id, title, rest};
}

}  // namespace seekrl::search
