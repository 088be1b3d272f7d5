#!/usr/bin/env bash
# Checks and measures the kernels, then the whole engine, on this machine's GPU: bench/gpu/run.sh [--dry]
# [--stage kernels|program] [--only TEXT].
# The first stage checks every kernel in small against the emulator, runs compute-sanitizer over them and prints the table of
# kernels; the second compares the engine with the CPU, its speed with torch's on the same GPU, and runs its tests for GPUs.
# A stage has minutes: what is left then is skipped and said. It takes nvcc and g++, Node, and a torch for GPUs, which a
# Python of this machine has or SEEKRL_LIBTORCH names.
# What bench/gpu/pack.mjs has made is taken where it is there, Node and kernels with it; what is built without it counts
# to no stage. --only keeps the kernels' cases whose name has TEXT. OUT names the folder for results (build/gpu/results),
# JOBS how many compilers work at once.
# --dry needs no GPU: the emulator is in its place, sizes are the least.
set -euo pipefail
cd "$(dirname "$0")/../.."

dry=no only= stages="kernels program"
while [ $# -gt 0 ]; do
  case $1 in
  --dry) dry=yes ;;
  --stage)
    case ${2:-} in kernels | program) stages=$2 ;; *) echo "--stage: expected kernels or program, got ${2:-nothing}" >&2 && exit 2 ;; esac
    shift
    ;;
  --only)
    [ -n "${2:-}" ] || { echo "--only: expected a text that a case's name holds, got nothing" >&2 && exit 2; }
    only=$2 && shift
    ;;
  --help | -h) sed -n '2,/^[^#]/s/^# //p' bench/gpu/run.sh && exit 0 ;;
  *) echo "$1: unknown; there are --dry, --stage, --only TEXT and --help" >&2 && exit 2 ;;
  esac
  shift
done
[ $dry = no ] || PATH=$PWD/bench/gpu/dry:$PATH
nvidia-smi -L >/dev/null 2>&1 ||
  { echo "nvidia-smi finds no GPU. Remedy: a machine with one and its driver, or --dry." >&2 && exit 1; }

build=build/gpu carried=build/gpu/carried archive=build/gpu/carry/run.tar.xz out=${OUT:-build/gpu/results}
mkdir -p "$out" "$build"
export dry only build carried archive out JOBS=${JOBS:-$(nproc)}
. bench/gpu/parts.sh
. bench/gpu/machine.sh

run_stage() {
  stage_bad=
  begin_stage "$2"
  if [ -f $archive ]; then part unpack 10 40 use_archive; elif [ $dry = yes ]; then needs_gpu unpack 10; fi
  if [ -z "$stage_bad" ]; then
    use_node
    . "bench/gpu/$1.sh"
  fi
  end_stage "$1" || verdict=1
  expected=$((expected + stage_expected)) most=$((most + $2))
}

main() {
  local stage verdict=0 expected=0 most=0
  echo "# On a GPU: commit $(cat ${archive%/*}/commit 2>/dev/null || git rev-parse HEAD 2>/dev/null || echo unknown), $(date -u +%Y-%m-%d)"
  [ $dry = no ] || echo "Dry: the emulator is in the GPU's place. No GPU has run this."
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  for stage in $stages; do
    case $stage in kernels) run_stage kernels 270 ;; program) run_stage program 360 ;; esac
  done
  echo "Budget: $expected s are expected with a GPU, $most s the most."
  return $verdict
}

main 2>&1 | tee "$out/run.txt"
