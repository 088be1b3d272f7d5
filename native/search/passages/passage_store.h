// The passages of a corpus by number, read through a mapping: one look-up touches the two pages that it needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/spill_file.h"
#include "search/blob.h"

namespace seekrl::search {

// UTF-8; valid as long as the store.
struct PassageView {
  std::string_view id, title, text;
};

// Streams passages into a store's file. Memory is bounded whatever their number: lengths wait in a second file.
//
// The payload holds the records, one after another, then from the next multiple of 8 on their N + 1 u64 offsets.
// A record is the lengths of id and title as variable-length integers (7 bits a byte, low bits first), then the bytes
// of id, title and text, whose end is the next record's begin. Numbers of the blob: N, the offset of the table.
class PassageWriter {
 public:
  explicit PassageWriter(const std::string& path);

  // ERR_STATE after `finish`, ERR_RANGE beyond 2^31 - 1 passages or 4 GiB for one.
  void add(const PassageView& passage);
  // The file appears under its name.
  void finish();

  int64_t count() const { return count_; }
  // Of the records so far.
  int64_t num_bytes() const { return num_bytes_; }

 private:
  void write_table();

  BlobWriter blob_;
  SpillFile lengths_;
  std::vector<uint32_t> recent_lengths_;
  int64_t count_ = 0;
  int64_t num_bytes_ = 0;
  bool is_finished_ = false;
};

class PassageStore {
 public:
  PassageStore(const std::string& path, Verify verify);

  int64_t count() const { return count_; }
  // ERR_RANGE unless 0 <= index < count().
  PassageView at(int64_t index) const;
  std::string_view id(int64_t index) const { return at(index).id; }
  std::string_view title(int64_t index) const { return at(index).title; }
  std::string_view text(int64_t index) const { return at(index).text; }

 private:
  std::string path_;
  Blob blob_;
  int64_t count_ = 0;
  int64_t num_record_bytes_ = 0;
  const uint64_t* offsets_ = nullptr;  // [N + 1]
};

}  // namespace seekrl::search
