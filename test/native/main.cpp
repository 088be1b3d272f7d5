// Runs the tests whose name contains the first argument, or all; the exit status says whether all passed.
#include <cstring>
#include <exception>

#include "check.h"

int main(int argc, char** argv) {
  using namespace seekrl::test;
  int num_failed = 0;
  for (const Test& test : tests()) {
    if (argc > 1 && std::strstr(test.name, argv[1]) == nullptr) continue;
    const int before = num_failures();
    try {
      test.body();
    } catch (const std::exception& error) {
      ++num_failures();
      std::printf("thrown: %s\n", error.what());
    }
    const bool is_ok = num_failures() == before;
    if (!is_ok) ++num_failed;
    std::printf("%s - %s\n", is_ok ? "ok" : "not ok", test.name);
  }
  return num_failed == 0 ? 0 : 1;
}
