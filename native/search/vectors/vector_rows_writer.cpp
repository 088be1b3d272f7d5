// Rows first, then the header that counts them; at the end the scales, the checksum and the name.
#include "search/vectors/vector_rows_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/platform/regular_file.h"
#include "base/platform/system_calls.h"

namespace seekrl::search {

VectorRowsWriter::VectorRowsWriter(std::string path, const VectorFormat& format)
    : path_(std::move(path)), part_(path_ + ".part"), format_(format) {
  check_format(format);
  descriptor_ = open_regular(part_, O_RDWR | O_CREAT | O_NOFOLLOW);
  try {
    resume();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

VectorRowsWriter::~VectorRowsWriter() {
  if (descriptor_ >= 0) close(descriptor_);
}

void VectorRowsWriter::check_io(bool is_done, const char* what) const {
  require(is_done, ErrorCode::kIo, part_, ": cannot be ", what, ": ", std::strerror(errno));
}

// A part without a whole header holds no rows yet; one that `finish` had closed but not named is opened again.
void VectorRowsWriter::resume() {
  struct stat status = {};
  check_io(fstat(descriptor_, &status) == 0, "read");
  const auto size = static_cast<uint64_t>(status.st_size);
  BlobHeader header;
  if (size >= sizeof(header)) {
    check_io(pread(descriptor_, &header, sizeof(header), 0) == sizeof(header), "read");
    check_header(part_, header, header.kind == ExactIndex::kKind ? ExactIndex::kKind : kPart);
    require(format_from(header.numbers) == format_, ErrorCode::kArgument, part_,
            ": holds vectors of another dim, metric or dtype; remove it to begin anew");
    num_rows_ = header.numbers[0];
    require(size >= sizeof(header) + num_row_bytes(), ErrorCode::kFormat, part_, ": expected ", num_rows_,
            " rows, the file is cut");
  }
  check_io(ftruncate(descriptor_, static_cast<off_t>(sizeof(header) + num_row_bytes())) == 0, "cut");
  write_header(kPart, num_row_bytes(), 0);
}

void VectorRowsWriter::write_at(uint64_t offset, const void* data, size_t num_bytes) const {
  auto* bytes = static_cast<const std::byte*>(data);
  while (num_bytes > 0) {
    const ssize_t num_put = pwrite(descriptor_, bytes, num_bytes, static_cast<off_t>(offset));
    if (num_put < 0 && errno == EINTR) continue;
    check_io(num_put > 0, "written");
    bytes += num_put;
    offset += static_cast<uint64_t>(num_put);
    num_bytes -= static_cast<size_t>(num_put);
  }
}

void VectorRowsWriter::write_header(BlobKind kind, uint64_t payload_bytes, uint64_t checksum) const {
  const BlobHeader header =
      make_header(kind, payload_bytes, checksum,
                  {num_rows_, format_.dim, static_cast<int64_t>(format_.metric), static_cast<int64_t>(format_.scalar)});
  write_at(0, &header, sizeof(header));
}

void VectorRowsWriter::sync() const { check_io(flush_to_disk(descriptor_) == 0, "flushed"); }

void VectorRowsWriter::add(const float* vectors_ND, int64_t num_vectors) {
  require(descriptor_ >= 0, ErrorCode::kState, path_, ": is finished");
  require(num_rows_ <= INT32_MAX - num_vectors, ErrorCode::kRange, path_, ": expected at most 2^31 - 1 rows");
  const size_t row_bytes = format_.bytes();
  std::vector<std::byte> stored(static_cast<size_t>(num_vectors) * row_bytes);
  for (int64_t i = 0; i < num_vectors; ++i) {
    encode_vector(format_, vectors_ND + i * format_.dim, stored.data() + static_cast<size_t>(i) * row_bytes);
  }
  write_at(sizeof(BlobHeader) + num_row_bytes(), stored.data(), stored.size());
  sync();
  num_rows_ += num_vectors;
  write_header(kPart, num_row_bytes(), 0);
}

void VectorRowsWriter::finish() {
  require(descriptor_ >= 0, ErrorCode::kState, path_, ": is finished");
  sync();
  std::vector<float> scales;
  Checksum checksum;
  {
    const MappedFile mapped(part_);
    const std::byte* rows = mapped.data() + sizeof(BlobHeader);
    checksum.add(rows, num_row_bytes());
    for (int64_t row = 0; format_.scalar == Scalar::kI8 && row < num_rows_; ++row) {
      scales.push_back(scale_of_stored(format_, rows + static_cast<size_t>(row) * format_.bytes()));
    }
  }
  uint64_t size = num_row_bytes();
  const auto append = [&](const void* data, size_t num_bytes) {
    checksum.add(data, num_bytes);
    write_at(sizeof(BlobHeader) + size, data, num_bytes);
    size += num_bytes;
  };
  const std::array<std::byte, 64> zeros = {};
  const auto pad = [&] { append(zeros.data(), (64 - size % 64) % 64); };
  pad();
  append(scales.data(), scales.size() * sizeof(float));
  pad();
  sync();
  write_header(ExactIndex::kKind, size, checksum.value());
  sync();
  check_io(std::rename(part_.c_str(), path_.c_str()) == 0, "named");
  close(std::exchange(descriptor_, -1));
}

}  // namespace seekrl::search
