// What the emulator's cases left, in files, and how near a GPU's come.
#pragma once

#include <string>

#include "cases.h"

namespace seekrl::bench {

// Number i of what was read back.
double number_at(const std::vector<uint8_t>& bytes, Kind kind, int64_t i);

// One file an output, the name of case and output.
void write_outputs(const std::string& folder, const Case& of, const Prepared& prepared);
// Prints a line for each output; whether all are near enough.
bool check_outputs(const std::string& folder, const Case& of, const Prepared& prepared);

}  // namespace seekrl::bench
