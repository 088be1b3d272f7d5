// Buffered writes before a header that comes last, and the checks on opening.
#include "search/blob.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace seekrl::search {

namespace {

constexpr std::array<char, 8> kMagic = {'S', 'E', 'E', 'K', 'B', 'L', 'O', 'B'};
constexpr uint32_t kVersion = 2;
constexpr size_t kBufferBytes = 1 << 20;

uint64_t checksum_of(BlobHeader header) {
  header.header_checksum = 0;
  Checksum checksum;
  checksum.add(&header, sizeof(header));
  return checksum.value();
}

}  // namespace

BlobHeader make_header(BlobKind kind, uint64_t payload_bytes, uint64_t checksum, const BlobNumbers& numbers) {
  BlobHeader header;
  std::memset(static_cast<void*>(&header), 0, sizeof(header));  // the padding too: equal contents, equal files
  header.magic = kMagic;
  header.version = kVersion;
  header.kind = kind;
  header.payload_bytes = payload_bytes;
  header.checksum = checksum;
  header.numbers = numbers;
  header.header_checksum = checksum_of(header);
  return header;
}

void check_header(const std::string& path, const BlobHeader& header, BlobKind kind) {
  const auto check = [&](bool holds, const auto&... parts) {
    require(holds, ErrorCode::kFormat, path, ": ", parts...);
  };
  check(header.magic == kMagic, "not an index file of SeekRL");
  check(header.version == kVersion, "expected format version ", kVersion, ", got ", header.version);
  check(header.kind == kind, "expected an index file of kind ", std::string_view(kind.data(), 4));
  check(header.header_checksum == checksum_of(header), "the header's checksum does not match, the file is damaged");
}

BlobWriter::BlobWriter(std::string path, BlobKind kind) : file_(std::move(path)), kind_(kind) {
  const std::array<std::byte, sizeof(BlobHeader)> room = {};
  file_.write(room.data(), room.size());
  buffer_.reserve(kBufferBytes);
}

void BlobWriter::flush() {
  file_.write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void BlobWriter::write(const void* data, size_t num_bytes) {
  checksum_.add(data, num_bytes);
  if (buffer_.size() + num_bytes > kBufferBytes) flush();
  if (num_bytes > kBufferBytes) return file_.write(data, num_bytes);
  auto* bytes = static_cast<const std::byte*>(data);
  buffer_.insert(buffer_.end(), bytes, bytes + num_bytes);
}

void BlobWriter::write_padded(const void* data, size_t num_bytes) {
  constexpr std::array<std::byte, 64> kZeros = {};
  write(data, num_bytes);
  write(kZeros.data(), padded(num_bytes) - num_bytes);
}

void BlobWriter::finish(const BlobNumbers& numbers) {
  flush();
  const uint64_t payload_bytes = static_cast<uint64_t>(file_.size()) - sizeof(BlobHeader);
  const BlobHeader header = make_header(kind_, payload_bytes, checksum_.value(), numbers);
  file_.write_at(0, &header, sizeof(header));
  file_.publish();
}

Blob::Blob(const std::string& path, BlobKind kind, Verify verify) : file_(std::make_unique<MappedFile>(path)) {
  BlobHeader header;
  require(file_->size() >= sizeof(header), ErrorCode::kFormat, path, ": expected at least ", sizeof(header),
          " bytes, got ", file_->size());
  std::memcpy(&header, file_->data(), sizeof(header));
  check_header(path, header, kind);
  require(header.payload_bytes == payload_bytes(), ErrorCode::kFormat, path, ": expected ", header.payload_bytes,
          " bytes after the header, got ", payload_bytes());
  if (verify == Verify::kAll) {
    Checksum checksum;
    checksum.add(payload(), payload_bytes());
    require(checksum.value() == header.checksum, ErrorCode::kFormat, path,
            ": the checksum does not match, the file is damaged");
  }
  numbers_ = header.numbers;
}

}  // namespace seekrl::search
