# Parts of a run, each with a limit; what a stage has no time for is skipped, and all that is printed is kept at once.

# begin_stage SECONDS: its clock starts.
begin_stage() { stage_started=$SECONDS stage_seconds=$1 stage_expected=0; }

# part NAME EXPECTED LIMIT COMMAND...: runs a command of at most LIMIT seconds, and says how long it took beside EXPECTED. It
# prints to the screen and to $out/NAME.txt. A part that fails is remembered; the next one runs all the same.
part() {
  local name=$1 expected=$2 limit=$3 started=$SECONDS code=0 left
  shift 3
  stage_expected=$((stage_expected + expected))
  left=$((stage_seconds - (started - stage_started)))
  # The emulator takes as long as its processor does.
  [ $dry = no ] || { limit=$((20 * limit)) && left=$limit; }
  [ "$left" -ge "$limit" ] || limit=$left
  echo && echo "## $name"
  if [ "$limit" -lt 5 ]; then
    echo "$name: skipped, the stage has no time left" && stage_bad="$stage_bad $name" && return 0
  fi
  (in_session "$limit" "$@") 2>&1 | tee "$out/$name.txt" || code=$?
  [ $code = 0 ] || stage_bad="$stage_bad $name"
  case $code in 0) ;; 124 | 137) echo "$name: stopped after $limit s" ;; *) echo "$name: failed ($code)" ;; esac
  echo "$name: $((SECONDS - started)) s (expected $expected, at most $limit)"
}

# in_session SECONDS COMMAND...: nothing that the command has started outlives it, in whatever group.
in_session() {
  local seconds=$1 code=0 own=$build/session-$BASHPID
  shift
  own=$own setsid --wait timeout --signal=TERM --kill-after=5 "$seconds" bash -euo pipefail -c '
    cut -d" " -f6 /proc/self/stat >"$own"
    . bench/gpu/parts.sh
    "$@"' part "$@" || code=$?
  end_session "$(cat "$own")" && rm "$own"
  return $code
}

# end_session NUMBER: kills what is left of it.
end_session() {
  local each stat pid
  for each in /proc/[0-9]*/stat; do
    read -r stat 2>/dev/null <"$each" || continue
    pid=${stat%% *}
    # After the name, which may have blanks: state, parent, group, session.
    set -- "$1" ${stat##*) }
    [ "$5" != "$1" ] || kill -KILL "$pid" 2>/dev/null || true
  done
}

# begin NAME SECONDS COMMAND...: runs a command beside the parts that follow; what it prints goes to $out/NAME.txt.
begin() {
  local name=$1 seconds=$2
  shift 2
  rm -f "$build/$name.code"
  {
    code=0
    nice -n 10 timeout --kill-after=5 "$seconds" "$@" || code=$?
    echo $code >"$build/$name.code"
  } >"$out/$name.txt" 2>&1 &
}

# joined NAME: waits for what was begun, shows how it ended.
joined() {
  until [ -f "$build/$1.code" ]; do sleep 0.2; done
  tail -20 "$out/$1.txt"
  return "$(cat "$build/$1.code")"
}

# needs_gpu NAME EXPECTED: a part that a rehearsal skips.
needs_gpu() { stage_expected=$((stage_expected + $2)) && echo && echo "## $1" && echo "$1: needs a GPU ($2 s expected there)"; }

# end_stage NAME: what it came to; fails where a part did.
end_stage() {
  echo && echo "The stage of the $1 took $((SECONDS - stage_started)) s; $stage_expected are expected with a GPU, $stage_seconds the most."
  [ -n "$stage_bad" ] || { echo "Verdict: all well." && return 0; }
  echo "Verdict: NOT well:$stage_bad." && return 1
}

# every_case TOOL...: checks each small case in a process of its own under a tool, several at once. One that hangs is killed,
# and the rest go on. A line for each output: ok, or the first wrong number.
every_case() {
  "$bench" --list check ${only:+--only "$only"} |
    xargs -d '\n' -P 8 -I{} bash -c '. bench/gpu/parts.sh; one_case "$@"' case {} "$@"
}

# one_case NAME TOOL...: after 20 s, under a tool 60 s, it is killed.
one_case() {
  local name=$1 code=0 said seconds=20
  shift
  [ $# = 0 ] || seconds=60
  [ $dry = no ] || seconds=300
  said=$(timeout --signal=KILL $seconds "$@" "$bench" --check "$fixtures" --case "$name" 2>&1) || code=$?
  if [ $# = 0 ]; then told "$name" $code $seconds "$said"; else told_by_tool "$name" $code $seconds "$said"; fi
}

# In one piece each: others write too.
told() {
  local name=$1 code=$2 seconds=$3 said=$4
  if [ "$code" = 0 ]; then
    grep '^ok' <<<"$said"
  elif [ "$code" = 137 ]; then
    echo "not ok - $name: killed, it had not ended after $seconds s"
  else
    grep '^not ok' <<<"$said" || echo "not ok - $name: ended with $code: $(tail -8 <<<"$said" | tr '\n' ' ')"
  fi
}

# A tool's findings begin with =====; it found nothing where it says so, whatever its exit code.
told_by_tool() {
  local name=$1 code=$2 seconds=$3 said=$4
  printf '%s\n' "## $name" "$said" >>"$out/sanitizer.txt"
  if [ "$code" = 137 ]; then
    echo "not finished - $name: after $seconds s"
  elif [ "$code" = 0 ] && grep -q 'SUMMARY: 0 ' <<<"$said"; then
    echo "ok - $name"
  else
    echo "not ok - $name: ended with $code: $(grep -m12 '^=====' <<<"$said" || tail -8 <<<"$said")"
  fi
}

# sanitized TOOL: every case under one of compute-sanitizer's tools, where it works at all: some machines do not let it.
sanitized() {
  local under="compute-sanitizer --tool $1 --error-exitcode 1" first
  # In a rehearsal, which finds nothing by it, a few.
  [ $dry = no ] || only=${only:-tiny}
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not found: $1 is left out." && return 0; }
  first=$("$bench" --list check ${only:+--only "$only"} | sed -n 1p)
  first=$(timeout --signal=KILL 60 $under "$bench" --check "$fixtures" --case "$first" 2>&1 || true)
  if grep -q 'Device not supported' <<<"$first"; then
    echo "compute-sanitizer says that it does not support this device: $1 is left out." && return 0
  fi
  counted every_case $under
}

# counted COMMAND...: its lines as they come, then how many are ok; fails where one is not, or none is.
counted() {
  local lines=$build/lines-$BASHPID
  "$@" | tee "$lines" || true
  echo "$(grep -c '^ok' "$lines" || true) ok, $(grep -c '^not ok' "$lines" || true) not, $(grep -c '^not finished' "$lines" || true) not finished."
  grep -q '^ok' "$lines" && ! grep -q '^not ok' "$lines"
}

# table: a row for each case, each in a process of its own.
table() {
  local name code bad=0 seconds=20
  [ $dry = no ] || seconds=300
  "$bench" --head
  while read -r name; do
    code=0
    timeout --signal=KILL $seconds "$bench" --case "$name" || code=$?
    [ $code = 0 ] || bad=1
    case $code in 0 | 1) ;; *) echo "| $name | | | FAILED: ended with $code (137: killed after $seconds s) | | | | |" ;; esac
  done < <("$bench" --list table ${only:+--only "$only"})
  return $bad
}

# each_of SECONDS COMMAND NAME...: a process for each name, which follows --only; one that fails or hangs costs itself alone.
each_of() {
  local seconds=$1 command=$2 name code bad=0
  shift 2
  [ $dry = no ] || seconds=600
  for name in "$@"; do
    code=0
    timeout --signal=KILL "$seconds" $command --only "$name" || code=$?
    [ $code = 0 ] || { bad=1 && echo "not ok - $name ended with $code (137: killed after $seconds s)"; }
  done
  return $bad
}
