# Parts of a run, each with a limit; what a half has no time for is skipped, and all that is printed is kept at once.

# begin_half SECONDS
begin_half() { half_started=$SECONDS half_seconds=$1 half_expected=0 half_bad=; }

# part NAME EXPECTED LIMIT COMMAND...: runs a command of at most LIMIT seconds, and says how long it took beside EXPECTED. It
# prints to the screen and to $out/NAME.txt. A part that fails is remembered; the next one runs all the same.
part() {
  local name=$1 expected=$2 limit=$3 started=$SECONDS code=0 left
  shift 3
  half_expected=$((half_expected + expected))
  left=$((half_seconds - (started - half_started)))
  # The emulator takes as long as its processor does.
  [ $dry = yes ] && limit=$((10 * limit)) left=$limit
  [ "$left" -lt "$limit" ] && limit=$left
  echo && echo "## $name"
  if [ "$limit" -lt 5 ]; then
    echo "$name: skipped, the half has no time left" && half_bad="$half_bad $name" && return 0
  fi
  timeout --signal=TERM --kill-after=5 "$limit" bash -euo pipefail -c '. bench/gpu/parts.sh; "$@"' part "$@" 2>&1 | tee "$out/$name.txt" || code=$?
  [ $code = 0 ] || half_bad="$half_bad $name"
  case $code in 0) ;; 124 | 137) echo "$name: stopped after $limit s" ;; *) echo "$name: failed ($code)" ;; esac
  echo "$name: $((SECONDS - started)) s (expected $expected, at most $limit)"
}

# needs_gpu NAME EXPECTED: of a dry run.
needs_gpu() { half_expected=$((half_expected + $2)) && echo && echo "## $1" && echo "$1: needs a GPU ($2 s expected there)"; }

# end_half NAME: what it came to; fails where a part did.
end_half() {
  echo && echo "The half of the $1 took $((SECONDS - half_started)) s; $half_expected are expected with a GPU, $half_seconds the most."
  [ -z "$half_bad" ] && echo "Verdict: all well." && return 0
  echo "Verdict: NOT well:$half_bad." && return 1
}

# every_case TOOL...: checks each small case in a process of its own under a tool, several at once. One that hangs is killed after
# 20 s (in the emulator 200), and the rest go on. A line for each output: ok, or the first wrong number.
every_case() {
  "$bench" --list ${only:+--only "$only"} | xargs -d '\n' -P 4 -I{} bash -c '. bench/gpu/parts.sh; one_case "$@"' case {} "$@"
}

one_case() {
  local name=$1 code=0 said seconds=20
  shift
  [ $dry = yes ] && seconds=200
  said=$(timeout --signal=KILL $seconds "$@" "$bench" --check "$fixtures" --case "$name" 2>&1) || code=$?
  # In one piece: others write too.
  if [ $code = 0 ]; then
    [ $# -gt 0 ] && echo "ok - $name" || printf '%s\n' "$said" | grep '^ok'
  elif [ $code = 137 ]; then
    echo "not ok - $name: killed, it had not ended after $seconds s"
  else
    printf '%s\n' "$said" | grep '^not ok' || printf 'not ok - %s: ended with %s: %s\n' "$name" "$code" "$(printf '%s' "$said" | tail -8 | tr '\n' ' ')"
  fi
}

# counted COMMAND...: its lines as they come, then how many are ok; fails where one is not.
counted() {
  "$@" | tee "$build/lines" || true
  echo "$(grep -c '^ok' "$build/lines" || true) ok, $(grep -c '^not ok' "$build/lines" || true) not."
  grep -q '^ok' "$build/lines" && ! grep -q '^not ok' "$build/lines"
}
