// Which instruction set the kernels use: the best the processor has, unless SEEKRL_MAX_CPU_ISA or a test asks for less.
#pragma once

namespace seekrl::kernels {

enum class Isa { kPlain, kAvx2, kAvx512, kAmx };

Isa best_isa();

// The most that the variable's value names: best of all when it is null; throws when it is unknown.
Isa named_isa(const char* name);

// The spelling of SEEKRL_MAX_CPU_ISA.
const char* isa_name(Isa isa);

// The one in use. Results in f32 do not depend on it; those of bf16 do in their last bits, and speed does. The first
// call throws what named_isa throws.
Isa isa();

// Whether products of bf16 run on a matrix unit, which takes one factor as rows and the other as panels of columns.
bool has_tiles();

// For tests and benchmarks; expects at most best_isa(). Not while kernels run.
void set_isa(Isa isa);

}  // namespace seekrl::kernels
