#!/usr/bin/env bash
# Builds the program that checks and measures the kernels: bench/gpu/build.sh FOLDER [ARCHITECTURE]. ARCHITECTURE is nvcc's
# (native, sm_90), or emulated: the kernels as C++ on this machine's processor, where the one of `npm run build -- --tests` is
# taken if it is there. What is newer than all sources stays. JOBS: how many compilers work at once.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$1 architecture=${2:-native} jobs=${JOBS:-$(nproc)}
program=$out/bench-$architecture
mkdir -p "$out/objects-$architecture"
tested=build/cmake/seekrl_gpu_bench_emulated
if [ "$architecture" = emulated ] && [ -x $tested ]; then cp $tested "$program" && exit 0; fi
kernels=$(find native/kernels/cuda -name '*.cu')
drivers=$(ls bench/gpu/*.cpp | grep -v device_emulated)
sources=$(find native/kernels bench/gpu test/native/cuda -name '*.cu' -o -name '*.cuh' -o -name '*.h' -o -name '*.cpp')
if [ -x "$program" ] && [ -z "$(find $sources -newer "$program")" ]; then exit 0; fi

object() { echo "$out/objects-$architecture/$(echo "$1" | tr / _).o"; }
host() {
  for source in $drivers native/kernels/dynamic_map.cpp; do
    echo "g++ -std=c++20 -O1 -Inative -c $source -o $(object "$source")"
  done
}
device() {
  # Kernels that have the bits of the CPU's, where no multiply-add may be fused, are listed for the library's build.
  local unfused fused
  unfused=$(sed -n '/no multiply-add is fused/,/fmad=false/p' native/kernels/cuda/build.cmake | grep -o 'native/[a-z_/]*\.cu')
  for source in $kernels bench/gpu/fill.cu bench/gpu/device_gpu.cu; do
    fused=
    case " $(echo $unfused) " in *" $source "*) fused=-fmad=false ;; esac
    echo "$nvcc -std=c++20 -O3 -lineinfo -arch=$architecture -Inative $fused -c $source -o $(object "$source")"
  done
}
emulated() {
  for source in $kernels bench/gpu/fill.cu bench/gpu/device_emulated.cpp; do
    echo "g++ -std=c++20 -O1 -ffp-contract=off -w -Inative -Itest/native -Itest/native/cuda -xc++ -c $source -o $(object "$source")"
  done
}
run() { xargs -P "$jobs" -I{} sh -c '{} || exit 255'; }

if [ "$architecture" = emulated ]; then
  { emulated && host; } | run
  g++ -o "$program" "$out/objects-$architecture"/*.o -ldl -lpthread
else
  nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null) ||
    { echo "nvcc is not found. Remedy: put CUDA's compiler in PATH, or name its folder in CUDA_HOME." >&2 && exit 1; }
  # The kernels first: they take longest.
  { device && host; } | run
  "$nvcc" -arch="$architecture" -cudart static -o "$program" "$out/objects-$architecture"/*.o -ldl
fi
