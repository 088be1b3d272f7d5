# The kernels for CUDA: a library of their own, which the addon opens when it finds a GPU, and the same sources on the
# test's emulator. Neither needs libtorch. Beside it stands what makes one launch of many. scripts/setup asks for both
# where libtorch is a CUDA build.
option(SEEKRL_CUDA "Compile the kernels for CUDA, where there is nvcc" OFF)
file(GLOB_RECURSE CUDA_SOURCES CONFIGURE_DEPENDS native/kernels/cuda/*.cu)

if(SEEKRL_CUDA)
  find_program(SEEKRL_NVCC nvcc HINTS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin)
endif()
# Code for the first runs on every later GPU of its generation, its PTX on all later ones. "all" is what a release has.
set(SEEKRL_CUDA_ARCHITECTURES "80" CACHE STRING "Compute capabilities to compile for, or all")
set(CUDA_ARCHITECTURES ${SEEKRL_CUDA_ARCHITECTURES})
if(CUDA_ARCHITECTURES STREQUAL "all")
  set(CUDA_ARCHITECTURES 80 86 89 90 100 120)
endif()
function(try_nvcc status words)
  set(try ${CMAKE_BINARY_DIR}/cuda/try)
  file(WRITE ${try}.cu "template <class T> concept Any = true; __global__ void kernel() {}\n")
  execute_process(COMMAND ${SEEKRL_NVCC} -std=c++20 ${ARGN} -c ${try}.cu -o ${try}.o
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(${status} ${result} PARENT_SCOPE)
  set(${words} "${output}" PARENT_SCOPE)
endfunction()
if(SEEKRL_CUDA AND SEEKRL_NVCC)
  try_nvcc(nvcc_status nvcc_words)
  # What scripts/setup tells.
  set(complaint ${CMAKE_BINARY_DIR}/cuda/complaint.txt)
  file(REMOVE ${complaint})
  if(NOT nvcc_status EQUAL 0)
    file(WRITE ${complaint} "${nvcc_words}")
    message(WARNING "The kernels for CUDA are left out: ${SEEKRL_NVCC} does not compile C++20 here: ${nvcc_words}")
    set(SEEKRL_NVCC "")
  endif()
endif()
if(SEEKRL_CUDA AND SEEKRL_NVCC)
  set(CUDA_FLAGS -std=c++20 -O3 -I${CMAKE_SOURCE_DIR}/native -Xcompiler=-fPIC,-fvisibility=hidden -Xptxas=-v)
  if(SEEKRL_WERROR)
    list(APPEND CUDA_FLAGS -Werror=all-warnings)
  endif()
  foreach(architecture ${CUDA_ARCHITECTURES})
    list(APPEND CUDA_FLAGS -gencode=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  # Code differs by architecture in one constant, kHasBitProducts, of which both values give the same results: the PTX is
  # the oldest's, which runs on the most GPUs.
  list(GET CUDA_ARCHITECTURES 0 oldest)
  list(APPEND CUDA_FLAGS -gencode=arch=compute_${oldest},code=compute_${oldest})
  # A tenth of the size; the driver unpacks what is used. (nvcc before 12.8 packs less.)
  try_nvcc(nvcc_status nvcc_words --compress-mode=size)
  if(nvcc_status EQUAL 0)
    list(APPEND CUDA_FLAGS --compress-mode=size)
  else()
    list(APPEND CUDA_FLAGS -Xfatbin=-compress-all)
  endif()
  # Kernels of one contract, on the CPU or for other shapes, have the same bits: no multiply-add is fused but those the
  # source names.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../unfused.txt)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../unfused.txt UNFUSED)
  set_source_files_properties(${UNFUSED} PROPERTIES CUDA_FLAGS -fmad=false)
  file(GLOB_RECURSE CUDA_HEADERS CONFIGURE_DEPENDS native/kernels/cuda/*.cuh native/kernels/cuda/*.h native/kernels/*.h)
  foreach(source ${CUDA_SOURCES})
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/native/kernels/cuda ${source})
    string(REPLACE "/" "_" name ${name})
    set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
    get_source_file_property(own_flags ${source} CUDA_FLAGS)
    if(NOT own_flags)
      set(own_flags)
    endif()
    # What ptxas says, its input and its code are kept beside the object for test/native/cuda/resources.full.test.ts.
    set(kept ${CMAKE_BINARY_DIR}/cuda/${name})
    add_custom_command(OUTPUT ${object} DEPENDS ${source} ${CUDA_HEADERS} VERBATIM
      COMMAND ${CMAKE_COMMAND} -E rm -rf ${kept}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${kept}
      COMMAND sh -c "\"$@\" 2> \"$0/ptxas.txt\" || { cat \"$0/ptxas.txt\" >&2; exit 1; }"
              ${kept} ${SEEKRL_NVCC} ${CUDA_FLAGS} ${own_flags} --keep --keep-dir ${kept} -c ${source} -o ${object}
      COMMAND sh -c "cd \"$0\" && rm -f *.ii *.c *.cpp *.gpu *.fatbin *.module_id" ${kept})
    list(APPEND CUDA_OBJECTS ${object})
  endforeach()
  set(CUDA_LIBRARY ${CMAKE_BINARY_DIR}/Release/libseekrl_cuda.so)
  add_custom_command(OUTPUT ${CUDA_LIBRARY} DEPENDS ${CUDA_OBJECTS} ${SEEKRL_OLD_LIBRARIES} VERBATIM
    COMMAND ${SEEKRL_NVCC} -shared -cudart static -Xlinker=--no-as-needed -o ${CUDA_LIBRARY} ${CUDA_OBJECTS}
            ${SEEKRL_OLD_LIBRARIES})
  add_custom_target(seekrl_cuda ALL DEPENDS ${CUDA_LIBRARY})
  add_dependencies(seekrl_addons seekrl_cuda)
endif()

# What captures launches: libtorch's headers of CUDA, which its CPU build has too, but none of its CUDA libraries.
if(SEEKRL_CUDA AND SEEKRL_NVCC AND EXISTS ${SEEKRL_LIBTORCH}/include/c10/cuda/CUDACachingAllocator.h)
  set(GRAPHS_LIBRARY ${CMAKE_BINARY_DIR}/Release/libseekrl_graphs.so)
  set(GRAPHS_SOURCE ${CMAKE_SOURCE_DIR}/native/graphs/cuda_graphs.cpp)
  set(graphs_flags -fPIC,-fvisibility=hidden,-Wall,-Wextra)
  # A libtorch whose allocator has other functions: kernels are then launched one by one, and the doctor says so.
  set(without_graphs "echo 'libseekrl_graphs.so is left out'")
  if(SEEKRL_WERROR)
    string(APPEND graphs_flags ,-Werror)
    set(without_graphs false)
  endif()
  set(graphs_baseline ${SEEKRL_OLD_LIBRARIES})
  if(TARGET seekrl_younger)
    list(PREPEND graphs_baseline $<TARGET_FILE:seekrl_younger>)
  endif()
  add_custom_command(OUTPUT ${GRAPHS_LIBRARY} VERBATIM
    DEPENDS ${GRAPHS_SOURCE} ${CMAKE_SOURCE_DIR}/native/graphs/graphs.h ${graphs_baseline}
    COMMAND sh -c "\"$@\" || ${without_graphs}" sh
            ${SEEKRL_NVCC} -std=c++20 -O2 -shared -cudart static -Xcompiler=${graphs_flags}
            -DC10_CUDA_NO_CMAKE_CONFIGURE_FILE -I${CMAKE_SOURCE_DIR}/native -isystem ${SEEKRL_LIBTORCH}/include
            -isystem ${SEEKRL_LIBTORCH}/include/torch/csrc/api/include
            -Xlinker=-z,defs -Xlinker=--no-as-needed -o ${GRAPHS_LIBRARY} ${GRAPHS_SOURCE}
            ${graphs_baseline} ${SEEKRL_LIBTORCH}/lib/libc10.so)
  add_custom_target(seekrl_graphs ALL DEPENDS ${GRAPHS_LIBRARY})
  add_dependencies(seekrl_addons seekrl_graphs)
endif()

# The kernels as C++ on fibers: seekrl_cuda_test, and under ThreadSanitizer, where its library is installed,
# seekrl_cuda_race_test, which finds missing barriers. What the emulator itself must find is no business of the second.
# libseekrl_emulated.so is the same as a device of libtorch's, for tests of what drives a GPU.
file(GLOB CUDA_TEST_SOURCES CONFIGURE_DEPENDS test/native/cuda/*.cpp)
function(emulate target)
  target_include_directories(${target} PRIVATE test/native test/native/cuda)
  target_link_libraries(${target} PRIVATE seekrl_settings ${CMAKE_DL_LIBS})
  target_compile_options(${target} PRIVATE -Wno-unknown-pragmas -Wno-maybe-uninitialized -ffp-contract=off
    -ffunction-sections ${ARGN})
endfunction()
# The emulator switches stacks by hand, on these processors.
if(SEEKRL_TESTS AND CUDA_TEST_SOURCES AND CMAKE_SYSTEM_NAME STREQUAL "Linux"
   AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|aarch64")
  # What is strict beside the emulator itself: locals hold a pattern until they are set, and each access is checked to be
  # aligned as a GPU wants it (emulator/alignment.h).
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-ftrivial-auto-var-init=pattern SEEKRL_HAS_PATTERNS)
  set(STRICT_FLAGS -fsanitize=alignment)
  if(SEEKRL_HAS_PATTERNS)
    list(APPEND STRICT_FLAGS -ftrivial-auto-var-init=pattern)
  endif()
  set_source_files_properties(${CUDA_SOURCES} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
  add_library(seekrl_emulated_kernels OBJECT ${CUDA_SOURCES})
  emulate(seekrl_emulated_kernels ${STRICT_FLAGS})
  file(GLOB EMULATED_SOURCES CONFIGURE_DEPENDS test/native/cuda/device/*.cpp)
  add_library(seekrl_emulated SHARED ${EMULATED_SOURCES} $<TARGET_OBJECTS:seekrl_emulated_kernels>)
  emulate(seekrl_emulated)
  target_include_directories(seekrl_emulated SYSTEM PRIVATE ${SEEKRL_LIBTORCH}/include
    ${SEEKRL_LIBTORCH}/include/torch/csrc/api/include)
  target_compile_definitions(seekrl_emulated PRIVATE AT_PER_OPERATOR_HEADERS)
  target_link_libraries(seekrl_emulated PRIVATE ${SEEKRL_LIBTORCH}/lib/libtorch_cpu.so ${SEEKRL_LIBTORCH}/lib/libc10.so)

  # Reference kernels that share their contract. Their files hold more than references, which calls what is not linked.
  list(APPEND CUDA_TEST_SOURCES native/kernels/cpu/adamw/reference_adamw.cpp native/kernels/cpu/reference.cpp
    native/kernels/dynamic_map.cpp native/kernels/products/quant.cpp native/kernels/products/bf16.cpp)
  add_executable(seekrl_cuda_test ${CUDA_TEST_SOURCES} test/native/main.cpp $<TARGET_OBJECTS:seekrl_emulated_kernels>)
  emulate(seekrl_cuda_test ${STRICT_FLAGS})
  target_link_options(seekrl_cuda_test PRIVATE -Wl,--gc-sections)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
  check_cxx_source_compiles("int main() { return 0; }" SEEKRL_HAS_THREAD_SANITIZER)
  unset(CMAKE_REQUIRED_FLAGS)
  if(SEEKRL_HAS_THREAD_SANITIZER AND NOT SEEKRL_SANITIZE)
    list(FILTER CUDA_TEST_SOURCES EXCLUDE REGEX emulator_test)
    add_executable(seekrl_cuda_race_test ${CUDA_TEST_SOURCES} ${CUDA_SOURCES} test/native/cuda/race/main.cpp)
    emulate(seekrl_cuda_race_test -fsanitize=thread -O1 -g1)
    target_link_options(seekrl_cuda_race_test PRIVATE -fsanitize=thread -Wl,--gc-sections)
  endif()

  # bench/gpu on the emulator; for a GPU bench/gpu/kernels/build.sh builds it.
  file(GLOB GPU_BENCH_SOURCES CONFIGURE_DEPENDS bench/gpu/kernels/*.cpp)
  set_source_files_properties(bench/gpu/kernels/fill.cu PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
  add_executable(seekrl_gpu_bench_emulated ${GPU_BENCH_SOURCES} bench/gpu/kernels/fill.cu native/kernels/dynamic_map.cpp
    $<TARGET_OBJECTS:seekrl_emulated_kernels>)
  emulate(seekrl_gpu_bench_emulated)
endif()
