#!/usr/bin/env bash
# Builds the program that checks and measures the kernels on a GPU: bench/gpu/kernels/build.sh FOLDER [ARCHITECTURE], where
# ARCHITECTURE is nvcc's (native, sm_90). What is newer than all sources stays. JOBS: how many compilers work at once.
set -euo pipefail
cd "$(dirname "$0")/../../.."

out=$1 architecture=${2:-native} jobs=${JOBS:-$(nproc)}
program=$out/bench-$architecture objects=$out/objects-$architecture
kernels=$(find native/kernels/cuda -name '*.cu')
drivers=$(ls bench/gpu/kernels/*.cpp | grep -v device_emulated)
sources=$(find native/kernels bench/gpu/kernels -type f)
if [ -x "$program" ] && [ -z "$(find $sources -newer "$program")" ]; then exit 0; fi
# Objects of sources that are gone would be linked.
rm -rf "$objects" && mkdir -p "$objects"
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null) ||
  { echo "nvcc is not found. Remedy: put CUDA's compiler in PATH, or name its folder in CUDA_HOME." >&2 && exit 1; }
# Code alone: PTX beside it doubles the program.
code=-arch=native
[ "$architecture" = native ] || code=-gencode=arch=compute_${architecture#sm_},code=$architecture

object() { echo "$objects/$(echo "$1" | tr / _).o"; }
device() {
  local unfused
  unfused=" $(tr '\n' ' ' <native/kernels/unfused.txt)"
  for source in $kernels bench/gpu/kernels/fill.cu bench/gpu/kernels/device_gpu.cu; do
    case $unfused in *" $source "*) set -- -fmad=false ;; *) set -- ;; esac
    echo "$nvcc -std=c++20 -O3 -lineinfo $code -Inative $* -c $source -o $(object "$source")"
  done
}
host() {
  for source in $drivers native/kernels/dynamic_map.cpp; do
    echo "g++ -std=c++20 -O1 -Inative -c $source -o $(object "$source")"
  done
}
# The kernels first: they take longest.
{ device && host; } | xargs -P "$jobs" -I{} sh -c '{} || exit 255'
"$nvcc" $code -cudart static -o "$program" "$objects"/*.o -ldl
