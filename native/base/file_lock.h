// A lock on a file that one holder at a time has: processes and objects alike. The kernel gives it up when they end.
#pragma once

#include <string>

namespace seekrl {

class FileLock {
 public:
  // Makes the file where it is missing, and writes into it who holds the lock: process, machine, since when. ERR_STATE
  // with these words when the lock is taken; ERR_IO when the file system refuses.
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace seekrl
