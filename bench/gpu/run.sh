#!/usr/bin/env bash
# Checks and measures the kernels on this machine's GPU: bench/gpu/run.sh [--dry] [--only TEXT]. It takes nvcc and g++, no
# libtorch and no Node, and about ten minutes on sixteen cores: builds, checks every kernel against the emulator, runs compute-sanitizer
# where it is found, then prints the table. --dry does what needs no GPU: builds and links for sm_80, and runs every case
# in the emulator. OUT names the folder for what is built (build/gpu), JOBS how many compilers work at once.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=${OUT:-build/gpu} jobs=${JOBS:-$(nproc)} dry=no only=
while [ $# -gt 0 ]; do
  case $1 in
  --dry) dry=yes ;;
  --only)
    [ -n "${2:-}" ] || { echo "--only: expected a text that a case's name holds, got nothing" >&2 && exit 2; }
    only=$2 && shift
    ;;
  --help | -h) sed -n '2,/^[^#]/s/^# //p' "bench/gpu/run.sh" && exit 0 ;;
  *) echo "$1: unknown; there are --dry, --only TEXT and --help" >&2 && exit 2 ;;
  esac
  shift
done

[ $dry = yes ] || nvidia-smi -L >/dev/null 2>&1 ||
  { echo "nvidia-smi finds no GPU. Remedy: a machine with one and its driver, or --dry." >&2 && exit 1; }
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null) ||
  { echo "nvcc is not found. Remedy: put CUDA's compiler in PATH, or name its folder in CUDA_HOME." >&2 && exit 1; }
architecture=native
[ $dry = yes ] && architecture=sm_80

mkdir -p "$out/gpu" "$out/emulated" "$out/fixtures"
# Kernels that have the bits of the CPU's, where no multiply-add may be fused, are listed for the library's build.
unfused=$(sed -n '/no multiply-add is fused/,/fmad=false/p' native/kernels/cuda/build.cmake | grep -o 'native/[a-z_/]*\.cu')
kernels=$(find native/kernels/cuda -name '*.cu')
drivers=$(ls bench/gpu/*.cpp | grep -v device_emulated)

object() { echo "$out/$1/$(echo "$2" | tr / _).o"; }
commands() {
  for source in $kernels bench/gpu/fill.cu bench/gpu/device_gpu.cu; do
    fused=; case " $(echo $unfused) " in *" $source "*) fused=-fmad=false ;; esac
    echo "$nvcc -std=c++20 -O3 -lineinfo -arch=$architecture -Inative $fused -c $source -o $(object gpu $source)"
  done
  for source in $kernels bench/gpu/fill.cu bench/gpu/device_emulated.cpp; do
    echo "g++ -std=c++20 -O1 -ffp-contract=off -w -Inative -Itest/native -Itest/native/cuda -xc++ -c $source -o $(object emulated $source)"
  done
  for source in $drivers native/kernels/dynamic_map.cpp; do
    echo "g++ -std=c++20 -O1 -Inative -c $source -o $(object . $source)"
  done
}

echo "# Kernels on a GPU: $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit'), $($nvcc --version | grep -o 'release.*')"
echo "Building with $jobs compilers: minutes, by the number of cores."
started=$SECONDS
commands | xargs -P "$jobs" -I{} sh -c '{} || exit 255'
shared=$(for source in $drivers native/kernels/dynamic_map.cpp; do object . "$source"; done)
"$nvcc" -arch=$architecture -cudart static -o "$out/gpu/bench" "$out"/gpu/*.o $shared -ldl
g++ -o "$out/emulated/bench" "$out"/emulated/*.o $shared -ldl -lpthread
echo "Built for $architecture in $((SECONDS - started)) s."

started=$SECONDS
"$out/emulated/bench" --write "$out/fixtures" ${only:+--only "$only"}
echo "The emulator's results of every case in small took $((SECONDS - started)) s."
if [ $dry = yes ]; then
  "$out/emulated/bench" --check "$out/fixtures" ${only:+--only "$only"} | { ! grep '^not ok'; }
  "$out/emulated/bench" ${only:+--only "$only"}
  echo "Dry: linked for a GPU, run in the emulator. No GPU has run this."
  exit 0
fi

echo; echo "## Results against the emulator's"; echo
"$out/gpu/bench" --check "$out/fixtures" ${only:+--only "$only"} >"$out/check.txt" && verdict=all || verdict=NOT
echo "$(grep -c '^ok' "$out/check.txt") outputs as near as promised, $(grep -c '^not ok' "$out/check.txt" || true) not."
grep '^not ok' "$out/check.txt" || true
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    compute-sanitizer --tool $tool --error-exitcode 1 "$out/gpu/bench" --check "$out/fixtures" ${only:+--only "$only"} \
      >"$out/$tool.txt" 2>&1 && echo "$tool: nothing found." || { verdict=NOT && echo "$tool: see $out/$tool.txt"; }
  done
else
  echo "compute-sanitizer is not found: memory and races are not checked."
fi

echo; echo "## Table"; echo
timeout 400 "$out/gpu/bench" ${only:+--only "$only"} || { verdict=NOT && echo "The table is not whole (it has 400 s)."; }

echo; echo "## The whole engine"; echo
engine=dist/bench/engine/generate.js
if command -v node >/dev/null && [ -f $engine ] && [ -f build/cmake/Release/libseekrl_cuda.so ]; then
  for batch in 1 64 256; do
    echo -n "generate 0.5B, $batch rows: "
    timeout 60 node $engine --device cuda --dtype bfloat16 --shape qwen2.5-0.5b --batch $batch --rounds 3 || echo "failed"
  done
else
  echo "Not run: it takes node, \`npm run build\` with a CUDA libtorch and \`npx tsc\`."
fi
echo; echo "Verdict: $verdict well."
[ $verdict = all ]
