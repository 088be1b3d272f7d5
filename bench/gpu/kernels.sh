# The first half: every kernel in small against the emulator's results, under compute-sanitizer, and how fast each is.
export bench=$build/bench-native fixtures=$carried/fixtures
if [ ! -d $fixtures ] || [ $dry = yes ]; then
  fixtures=$build/fixtures
  mkdir -p "$fixtures"
  part emulator 20 240 bash bench/gpu/build.sh "$build" emulated
  part fixtures 5 60 "$build/bench-emulated" --write "$fixtures"
fi
if [ $dry = yes ]; then
  bench=$build/bench-emulated
elif [ -x $carried/bench ]; then
  bench=$carried/bench
else
  part build 60 240 bash bench/gpu/build.sh "$build" native
fi
part check 40 90 counted every_case
if [ $dry = yes ]; then
  needs_gpu memcheck 60
  needs_gpu racecheck 60
elif command -v compute-sanitizer >/dev/null; then
  part memcheck 60 100 counted every_case compute-sanitizer --tool memcheck --error-exitcode 1
  part racecheck 60 100 counted every_case compute-sanitizer --tool racecheck --error-exitcode 1
else
  echo "compute-sanitizer is not found: memory and races are not checked."
fi
part table 150 240 "$bench" $([ $dry = yes ] && echo --tiny) ${only:+--only "$only"}
