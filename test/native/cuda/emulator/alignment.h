// What the compiler's check of alignment finds in kernels and in what they call: an access of a number or a vector at
// no multiple of its size, which a GPU does not forgive. Files with kernels are compiled with -fsanitize=alignment;
// this stands in the place of its library.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "threads.h"

#if !defined(__SANITIZE_ADDRESS__)

namespace seekrl::emulator {

// As GCC and Clang lay it out.
struct AlignmentCheck {
  const char* file;
  uint32_t line, column;
  const void* type;
  uint8_t log_alignment, kind;
};

[[noreturn]] inline void fail_misaligned(const AlignmentCheck& check, uintptr_t at) {
  const OwnBusiness own;
  const std::string what = "misaligned: " + std::string(check.file) + ":" + std::to_string(check.line) +
                           ": expected a multiple of " + std::to_string(1 << check.log_alignment) + " bytes, got " +
                           std::to_string(at % (1u << check.log_alignment)) + " more";
  if (running.block != nullptr) fail(what);
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace seekrl::emulator

extern "C" __attribute__((weak, visibility("hidden"))) void __ubsan_handle_type_mismatch_v1(
    seekrl::emulator::AlignmentCheck* check, uintptr_t at) {
  seekrl::emulator::fail_misaligned(*check, at);
}

#endif
