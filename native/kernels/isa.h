// Which instruction set the kernels use: the best the processor has, unless a test asks for less.
#pragma once

namespace seekrl::kernels {

enum class Isa { kPlain, kAvx2, kAvx512 };

Isa best_isa();

// The one in use. Results do not depend on it, speed does.
Isa isa();

// Whether products of bf16 run on a matrix unit, which takes one factor as rows and the other as panels of columns.
bool has_tiles();

// For tests and benchmarks; expects at most best_isa(). Not while kernels run.
void set_isa(Isa isa);

}  // namespace seekrl::kernels
