#!/usr/bin/env bash
# Checks and measures the kernels, then the whole engine, on this machine's GPU: bench/gpu/run.sh [--dry]
# [--half kernels|program] [--only TEXT].
# The first half checks every kernel in small against the emulator, runs compute-sanitizer over them and prints the table of
# kernels; the second sets up the engine as a user does, runs its tests for GPUs, compares it with the CPU, and its speed with
# torch's on the same GPU. A half has six minutes: what is left then is skipped and said. It takes nvcc and g++; the second
# half also Node and a CUDA torch, as Python's or where SEEKRL_LIBTORCH says.
# What bench/gpu/pack.mjs has made is taken where it is there. --only keeps the kernels' cases whose name has TEXT. OUT names
# the folder for results (build/gpu/results), JOBS how many compilers work at once.
# --dry needs no GPU: the emulator is in its place, sizes are the least, what only a GPU can do is named and skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."

dry=no only= halves="kernels program"
while [ $# -gt 0 ]; do
  case $1 in
  --dry) dry=yes ;;
  --half)
    case ${2:-} in kernels | program) halves=$2 ;; *) echo "--half: expected kernels or program, got ${2:-nothing}" >&2 && exit 2 ;; esac
    shift
    ;;
  --only)
    [ -n "${2:-}" ] || { echo "--only: expected a text that a case's name holds, got nothing" >&2 && exit 2; }
    only=$2 && shift
    ;;
  --help | -h) sed -n '2,/^[^#]/s/^# //p' bench/gpu/run.sh && exit 0 ;;
  *) echo "$1: unknown; there are --dry, --half, --only TEXT and --help" >&2 && exit 2 ;;
  esac
  shift
done
[ $dry = yes ] || nvidia-smi -L >/dev/null 2>&1 ||
  { echo "nvidia-smi finds no GPU. Remedy: a machine with one and its driver, or --dry." >&2 && exit 1; }

build=build/gpu carried=build/gpu/carried archive=build/gpu/carry/run.tar.xz out=${OUT:-build/gpu/results}
mkdir -p "$out" "$build"
export dry only build carried out JOBS=${JOBS:-$(nproc)}
. bench/gpu/parts.sh

echo "# On a GPU: $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit'), $(date -u +%Y-%m-%d)"
[ $dry = yes ] && echo "Dry: the emulator is in the GPU's place. No GPU has run this." || nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
verdict=0 expected=0
for half in $halves; do
  begin_half 360
  # In a rehearsal, whether it is whole.
  if [ -f $archive ] && [ $dry = yes ]; then
    part unpack 15 40 xz --test $archive
  elif [ -f $archive ] && [ ! -d $carried ]; then
    part unpack 15 40 tar -xJf $archive
  fi
  . "bench/gpu/$half.sh"
  end_half "$half" || verdict=1
  expected=$((expected + half_expected))
done
echo "Budget: $expected s are expected with a GPU, $((360 * $(echo $halves | wc -w))) s the most."
exit $verdict
