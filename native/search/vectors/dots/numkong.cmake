# Compiles NumKong's distance kernels for f32, bf16, i8 and bits at every instruction set; the fastest is chosen at run time.
# The sources come with the usearch package. Processors with AVX-512 VNNI and BF16 use tiles of our own instead.
include(CheckCSourceCompiles)

set(NUMKONG ${SEEKRL_USEARCH}/numkong)
set(NUMKONG_SOURCES numkong dispatch_f32 dispatch_bf16 dispatch_i8 dispatch_u1 dispatch_other)
list(TRANSFORM NUMKONG_SOURCES REPLACE "(.+)" "${NUMKONG}/c/\\1.c")

# NumKong enables a target only when told that the compiler knows its instructions.
function(numkong_target name flags probe)
  file(READ ${NUMKONG}/probes/${probe}.c source)
  string(PREPEND source "${ARGN}\n")
  set(CMAKE_REQUIRED_FLAGS ${flags})
  set(CMAKE_REQUIRED_QUIET ON)
  check_c_source_compiles("${source}" NUMKONG_HAS_${name})
  if(NUMKONG_HAS_${name})
    set(enabled 1)
  else()
    set(enabled 0)
  endif()
  set(NUMKONG_TARGETS ${NUMKONG_TARGETS} NK_TARGET_${name}=${enabled} PARENT_SCOPE)
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  numkong_target(HASWELL "-mavx2 -mfma -mf16c" x86_haswell)
  numkong_target(SKYLAKE "-mavx512f -mavx512bw -mavx512dq -mavx512vl" x86_skylake)
  numkong_target(ICELAKE "-mavx512vnni -mavx512vl" x86_icelake)
  numkong_target(GENOA "-mavx512bf16 -mavx512vl" x86_genoa)
  numkong_target(ALDER "-mavxvnni" x86_alder)
else()
  numkong_target(NEON "-march=armv8-a+simd" arm_neon)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # One of its headers adds the extension to whatever the base is, which GCC up to 12 does not take.
    numkong_target(NEONSDOT "" arm_neon_sdot "#pragma GCC target(\"+dotprod\")")
  else()
    numkong_target(NEONSDOT "-march=armv8.2-a+dotprod" arm_neon_sdot)
  endif()
  numkong_target(NEONBFDOT "-march=armv8.6-a+simd+bf16" arm_neon_bfdot)
endif()

add_library(numkong OBJECT ${NUMKONG_SOURCES})
set_target_properties(numkong PROPERTIES C_STANDARD 11)
target_include_directories(numkong PRIVATE ${NUMKONG}/include)
target_compile_definitions(numkong PRIVATE ${NUMKONG_TARGETS})
target_compile_options(numkong PRIVATE -O2 -w)

target_compile_definitions(seekrl_core PRIVATE NK_DYNAMIC_DISPATCH=1 NK_NATIVE_F16=0
  NK_NATIVE_BF16=0)
target_include_directories(seekrl_core SYSTEM PRIVATE ${NUMKONG}/include)
target_link_libraries(seekrl_core PUBLIC $<TARGET_OBJECTS:numkong>)
