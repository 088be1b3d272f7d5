# The second stage: the engine as a user sets it up, its numbers beside the CPU's, its speed beside torch's, its tests.
export device=cuda tiny=
shape=qwen2.5-0.5b large=large
[ $dry = no ] || { device=emulated tiny=--tiny shape=world large=; }
speed="node dist/bench/gpu/speed.js --device $device $tiny"

# What commands say and score, and what they find, beside the CPU.
commands() {
  local seekrl="node bin/seekrl.mjs" model="--model world/checkpoint --dtype bfloat16" where bad=0
  local index=$build/index what
  # As the world's chat template has a question.
  local ask=$'<|user|>Answer the question, searching with one query at a time.\nQuestion: Who directed Ironroad?\n<|assistant|>'
  rm -rf "$index"
  $seekrl index build --corpus bench/results --out "$index" --dense exact >/dev/null
  for where in cpu $device; do
    $seekrl generate $model --device $where --prompt "$ask" --temperature 0 --max-tokens 16 --json >"$out/said-$where.json"
    $seekrl score $model --device $where --text "$ask" --json >"$out/scored-$where.json"
    $seekrl search --index "$index,vectorsDevice=$where" --query "$ask" --query "a GPU's memory" --json >"$out/found-$where.json"
  done
  for what in said scored found; do
    node dist/bench/gpu/alike.js "$out/$what-cpu.json" "$out/$what-$device.json" || bad=1
  done
  [ $dry = yes ] || $seekrl demo --quick --device $device --out "$build/demo" | tail -20 || bad=1
  return $bad
}

# All of them must load; what they take in the emulator is the time of the tests themselves.
gpu_tests() {
  # By their sources: dist keeps what was once compiled.
  local tests=(test/gpu/*.full.test.ts)
  tests=("${tests[@]/#/dist/}")
  tests=("${tests[@]/%.ts/.js}")
  [ -f "${tests[0]}" ] || { echo "${tests[0]}: not there. Remedy: npm run build." && return 1; }
  if [ $dry = yes ]; then
    node --test --test-name-pattern=nothing-is-called-so "${tests[@]}" | tail -9
    tests=(dist/test/gpu/top-logprobs.full.test.js)
  fi
  SEEKRL_TEST_GPU=$device node --test --test-concurrency=4 "${tests[@]}"
}

peer() {
  local own=bench/gpu/peer.py
  [ $dry = no ] || own="$own --device cpu"
  python3 -m py_compile bench/gpu/peer.py
  if [ $dry = yes ] && ! python3 -c 'import torch' 2>/dev/null; then
    echo "No torch here: peer.py is compiled, and no more." && return 0
  fi
  PYTHONDONTWRITEBYTECODE=1 python3 $own "$@"
}
export -f commands gpu_tests peer

if [ $dry = no ]; then
  use_torch || { stage_bad="$stage_bad torch" && return 0; }
fi
if [ $dry = yes ]; then
  part setup 25 170 node bin/seekrl.mjs doctor --device emulated
elif [ -x $carried/node/bin/node ]; then
  part setup 25 170 node bin/seekrl.mjs setup cuda
else
  begin_stage 3600
  part setup 600 3600 node bin/seekrl.mjs setup cuda
  begin_stage 360
fi
part numbers 40 70 each_of 40 "node dist/bench/gpu/numbers.js --device $device --shape $shape $tiny" models rollout search
part speed 60 90 each_of 45 "$speed" small train search
part peer 40 70 peer "$out/speed.txt" "$out/table.txt"
part tests 50 60 gpu_tests
part commands 30 50 commands
if [ -n "$large" ]; then
  part large 70 100 each_of 90 "$speed" large
  part large-peer 20 40 peer "$out/large.txt"
else
  needs_gpu large 70
  needs_gpu large-peer 20
fi
