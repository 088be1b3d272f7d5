// Writes the vectors of a long build as they come, so that a killed build goes on after the last chunk that was added.
#pragma once

#include <cstdint>
#include <string>

#include "search/vectors/exact_index.h"

namespace seekrl::search {

// `finish` makes an exact index of the rows under `path`. Until then they stand in `path`.part, whose header counts the
// rows that are safely on the disk; what a kill left after them is cut off. One thread at a time.
class VectorRowsWriter {
 public:
  // Goes on with `path`.part if it is there. ERR_ARGUMENT if its vectors are of another format.
  VectorRowsWriter(std::string path, const VectorFormat& format);
  ~VectorRowsWriter();
  VectorRowsWriter(const VectorRowsWriter&) = delete;
  VectorRowsWriter& operator=(const VectorRowsWriter&) = delete;

  // vectors_ND: f32, finite. They are on the disk when it returns.
  void add(const float* vectors_ND, int64_t num_vectors);
  void finish();

  int64_t count() const { return num_rows_; }
  const VectorFormat& format() const { return format_; }

 private:
  static constexpr BlobKind kPart = {'p', 'a', 'r', 't'};

  void resume();
  void write_at(uint64_t offset, const void* data, size_t num_bytes) const;
  void write_header(BlobKind kind, uint64_t payload_bytes, uint64_t checksum) const;
  void sync() const;
  void check_io(bool is_done, const char* what) const;
  uint64_t num_row_bytes() const { return static_cast<uint64_t>(num_rows_) * format_.bytes(); }

  std::string path_, part_;
  VectorFormat format_;
  int descriptor_ = -1;
  int64_t num_rows_ = 0;
};

}  // namespace seekrl::search
