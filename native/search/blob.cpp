// Buffered writes, the atomic rename, and the checks on opening.
#include "search/blob.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace seekrl::search {

namespace {

constexpr std::array<char, 8> kMagic = {'S', 'E', 'E', 'K', 'B', 'L', 'O', 'B'};
constexpr uint32_t kVersion = 1;
constexpr size_t kBufferBytes = 1 << 20;

std::string temporary_name(const std::string& path) {
  static std::atomic<int> num_names{0};
  return path + "." + std::to_string(getpid()) + "-" + std::to_string(num_names.fetch_add(1)) + ".tmp";
}

// Makes the rename itself survive a power cut; not every file system allows it.
void sync_folder(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

BlobWriter::BlobWriter(std::string path, BlobKind kind)
    : path_(std::move(path)), temporary_(temporary_name(path_)), kind_(kind) {
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail_io("created");
  buffer_.reserve(kBufferBytes);
}

BlobWriter::~BlobWriter() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void BlobWriter::fail_io(const char* what) const {
  fail(ErrorCode::kIo, path_, ": cannot be ", what, ": ", std::strerror(errno));
}

void BlobWriter::put(const void* data, size_t num_bytes, int64_t offset) {
  auto* bytes = static_cast<const std::byte*>(data);
  while (num_bytes > 0) {
    const ssize_t num_put = pwrite(descriptor_, bytes, num_bytes, offset);
    if (num_put < 0 && errno == EINTR) continue;
    if (num_put <= 0) fail_io("written");
    bytes += num_put;
    offset += num_put;
    num_bytes -= static_cast<size_t>(num_put);
  }
}

void BlobWriter::flush() {
  put(buffer_.data(), buffer_.size(), static_cast<int64_t>(sizeof(BlobHeader)) + num_written_);
  num_written_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
}

void BlobWriter::write(const void* data, size_t num_bytes) {
  checksum_.add(data, num_bytes);
  if (buffer_.size() + num_bytes > kBufferBytes) flush();
  auto* bytes = static_cast<const std::byte*>(data);
  buffer_.insert(buffer_.end(), bytes, bytes + num_bytes);
}

void BlobWriter::finish(const BlobNumbers& numbers) {
  flush();
  checksum_.add(numbers.data(), sizeof(numbers));
  BlobHeader header;
  std::memset(static_cast<void*>(&header), 0, sizeof(header));  // the padding too: equal contents, equal files
  header.magic = kMagic;
  header.version = kVersion;
  header.kind = kind_;
  header.payload_bytes = static_cast<uint64_t>(num_written_);
  header.checksum = checksum_.value();
  header.numbers = numbers;
  put(&header, sizeof(header), 0);
  if (fsync(descriptor_) != 0) fail_io("flushed");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("renamed");
  close(descriptor_);
  descriptor_ = -1;
  sync_folder(path_);
}

Blob::Blob(const std::string& path, BlobKind kind) : file_(std::make_unique<MappedFile>(path)) {
  const auto check = [&](bool holds, const auto&... parts) {
    require(holds, ErrorCode::kFormat, path, ": ", parts...);
  };
  BlobHeader header;
  check(file_->size() >= sizeof(header), "expected at least ", sizeof(header), " bytes, got ", file_->size());
  std::memcpy(&header, file_->data(), sizeof(header));
  check(header.magic == kMagic, "not an index file of SeekRL");
  check(header.version == kVersion, "expected format version ", kVersion, ", got ", header.version);
  check(header.kind == kind, "expected an index file of kind ", std::string_view(kind.data(), 4));
  check(header.payload_bytes == payload_bytes(), "expected ", header.payload_bytes, " bytes after the header, got ",
        payload_bytes());
  Checksum checksum;
  checksum.add(payload(), payload_bytes());
  checksum.add(header.numbers.data(), sizeof(header.numbers));
  check(checksum.value() == header.checksum, "the checksum does not match, the file is damaged");
  numbers_ = header.numbers;
}

}  // namespace seekrl::search
