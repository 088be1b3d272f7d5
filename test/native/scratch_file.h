// A file of given bytes, gone with the test.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/error.h"

namespace seekrl::test {

class ScratchFile {
 public:
  ScratchFile() : path_("/tmp/seekrl-test-" + std::to_string(getpid()) + "-" + std::to_string(num_files()++)) {}
  explicit ScratchFile(const std::string& bytes) : ScratchFile() {
    std::FILE* const file = std::fopen(path_.c_str(), "wb");
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
  }
  ~ScratchFile() { std::remove(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  static int& num_files() {
    static int count = 0;
    return count;
  }

  std::string path_;
};

// The code with which `body` throws; kInternal when it does not, which none of ours does.
template <class Body>
ErrorCode code_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

}  // namespace seekrl::test
