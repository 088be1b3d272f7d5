# The first stage: every kernel in small against the emulator's results, under compute-sanitizer, and how fast each is.
has_begun=no
export bench=$carried/bench fixtures=$carried/fixtures
emulated=build/cmake/seekrl_gpu_bench_emulated
if [ -x $bench ]; then
  # The second stage needs it; a fault of the build shows now.
  if [ $dry = no ] && use_torch; then
    begin setup 250 node bin/seekrl.mjs setup cuda
    has_begun=yes
  fi
else
  bench=$build/bench-native fixtures=$build/fixtures
  begin_stage 3600
  [ $dry = yes ] || part emulator 300 1800 node scripts/setup/install.mjs --tests
  [ -x $emulated ] || { echo "$emulated: not there. Remedy: npm run build -- --tests" && stage_bad="$stage_bad emulator"; }
  rm -rf "$fixtures" && mkdir -p "$fixtures"
  part fixtures 5 60 $emulated --write "$fixtures"
  if [ $dry = yes ]; then bench=$emulated; else part build 120 1800 bash bench/gpu/kernels/build.sh "$build" native; fi
  begin_stage 270
fi
rm -f "$out/sanitizer.txt"
part check 15 50 counted every_case
part memcheck 60 80 sanitized memcheck
if [ $dry = yes ]; then
  needs_gpu addon 20
elif [ "$has_begun" = yes ]; then
  part addon 20 90 joined setup
fi
part table 80 110 table
part racecheck 60 80 sanitized racecheck
