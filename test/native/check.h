// A test program in a page: tests register themselves, failures are counted and printed.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace seekrl::test {

struct Test {
  const char* name;
  std::function<void()> body;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

inline int& num_failures() {
  static int count = 0;
  return count;
}

struct Registered {
  Registered(const char* name, std::function<void()> body) { tests().push_back({name, std::move(body)}); }
};

inline void check(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  ++num_failures();
  std::printf("%s:%d: %s\n", file, line, what);
}

inline void check_near(double actual, double expected, double tolerance, const char* what, const char* file, int line) {
  if (std::fabs(actual - expected) <= tolerance) return;
  ++num_failures();
  std::printf("%s:%d: %s: expected %.9g within %g, got %.9g\n", file, line, what, expected, tolerance, actual);
}

}  // namespace seekrl::test

#define SEEKRL_JOIN2(a, b) a##b
#define SEEKRL_JOIN(a, b) SEEKRL_JOIN2(a, b)
// TEST("a sentence about behaviour") { ... }
#define TEST(name)                                                                                             \
  static void SEEKRL_JOIN(test_body_, __LINE__)();                                                             \
  static const seekrl::test::Registered SEEKRL_JOIN(test_, __LINE__)(name, SEEKRL_JOIN(test_body_, __LINE__)); \
  static void SEEKRL_JOIN(test_body_, __LINE__)()
#define EXPECT(condition) seekrl::test::check(condition, #condition, __FILE__, __LINE__)
#define EXPECT_NEAR(actual, expected, tolerance) \
  seekrl::test::check_near(actual, expected, tolerance, #actual, __FILE__, __LINE__)
