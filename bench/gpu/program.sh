# The second half: the engine as a user sets it up, its tests, its numbers beside the CPU's, its speed beside torch's.
export device=cuda tiny=
shape=qwen2.5-0.5b
# Tests that need no more of the emulator than that it is a GPU.
tests=$(grep -l '/device.js"' dist/test/gpu/*.full.test.js)
[ $dry = yes ] && device=emulated tiny=--tiny shape=world tests=dist/test/gpu/top-logprobs.full.test.js

if [ $dry = no ] && [ -x $carried/node/bin/node ]; then
  # cmake-js takes Node's headers from there.
  export PATH=$PWD/$carried/node/bin:$PATH npm_config_nodedir=$PWD/$carried/node
fi

# The same greedy words and, within bf16's rounding, scores as on the CPU; then the whole loop in small.
commands() {
  local seekrl="node bin/seekrl.mjs" model="--model world/checkpoint --dtype bfloat16" ask="Who directed Ironroad?" where
  for where in cpu $device; do
    $seekrl generate $model --device $where --prompt "$ask" --temperature 0 --max-tokens 16 >"$build/said-$where"
    $seekrl score $model --device $where --text "$ask" | tee "$build/scored-$where"
  done
  cmp "$build/said-cpu" "$build/said-$device" && echo "ok - generate says what it says on the CPU"
  [ $dry = yes ] || $seekrl demo --quick --device $device --out "$build/demo" | tail -20
}
export -f commands

if [ $dry = yes ]; then
  needs_gpu setup 110
else
  part setup 110 170 node bin/seekrl.mjs setup cuda
fi
part tests 60 110 env SEEKRL_TEST_GPU=$device node --test --test-concurrency=4 $tests
part numbers 30 60 node dist/bench/gpu/numbers.js --device $device --shape $shape $tiny
part commands 30 60 commands
part speed 60 110 node dist/bench/gpu/speed.js --device $device $tiny
if [ $dry = yes ]; then
  needs_gpu peer 50
else
  part peer 50 90 python3 bench/gpu/peer.py "$out/speed.txt"
fi
