/** Scripts of the documentation with doubles of srun, mpirun, torchrun, scontrol and node, which write down what they are called with. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { placeOf } from "../../apps/cluster/launch-variables.ts";
import type { Place } from "../../apps/cluster/launchers/place.ts";

type Variables = Readonly<Record<string, string>>;

/** A call of node that a script has made. */
export interface Call {
  /** From the program's file on. */
  readonly args: readonly string[];
  readonly variables: Variables;
}

/** What a script did. */
export interface DryRun {
  readonly calls: readonly Call[];
  /** What the doubles of launchers were called with before the program. */
  readonly options: readonly string[];
  readonly code: number | null;
}

const bash = (text: string): string => `#!/bin/bash\n${text}`;
/** A name for each call, in their order. */
const next = 'name="$RECORD/$(printf %05d "$(ls "$RECORD" | wc -l)")"';

/** As slurmstepd sets up each task, from the batch script's nodes and tasks. */
const srun = bash(`
while [[ "$1" == --* ]]; do echo "$1" >> "$OPTIONS"; shift; done
export SLURM_NTASKS=$((NODES * TASKS)) SLURM_STEP_NUM_TASKS=$((NODES * TASKS)) SLURM_STEP_NODELIST=$SLURM_JOB_NODELIST
export SLURM_STEP_ID=0 SLURM_STEP_TASKS_PER_NODE="$TASKS(x$NODES)"
for ((i = 0; i < SLURM_NTASKS; i++)); do
  SLURM_PROCID=$i SLURM_NODEID=$((i / TASKS)) SLURM_LOCALID=$((i % TASKS)) "$@"
done
exit "\${FAILS:-0}"
`);

/** As mpirun fills the slots of the hosts, one host after the other. */
const mpirun = bash(`
while [[ "$1" == -* ]]; do
  echo "$1" >> "$OPTIONS"
  case "$1" in
    -np) size=$2 ;;
    -x) export "\${2?}" ;;
    --host) slots=\${2##*:} ;;
  esac
  shift 2
done
export OMPI_COMM_WORLD_SIZE=$size OMPI_COMM_WORLD_LOCAL_SIZE=$slots
for ((i = 0; i < size; i++)); do
  OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_LOCAL_RANK=$((i % slots)) "$@"
done
`);

/** As the agent of the machine GROUP_RANK sets up its workers. */
const torchrun = bash(`
while [[ "$1" == --* ]]; do
  echo "\${1%%=*}" >> "$OPTIONS"
  case "$1" in
    --nnodes=*) machines=\${1#*=} ;;
    --nproc-per-node=*) processes=\${1#*=} ;;
  esac
  shift
done
export WORLD_SIZE=$((machines * processes)) LOCAL_WORLD_SIZE=$processes MASTER_ADDR=node01 MASTER_PORT=41235
export TORCHELASTIC_USE_AGENT_STORE=True TORCHELASTIC_RESTART_COUNT=0
for ((i = 0; i < processes; i++)); do LOCAL_RANK=$i RANK=$((GROUP_RANK * processes + i)) "$@"; done
`);

const doubles = {
  srun,
  mpirun,
  torchrun,
  node: bash(`${next}; printf '%s\\0' "$@" > "$name.args"; env -0 > "$name.env"`),
  scontrol: bash('echo "scontrol $*" >> "$OPTIONS"'),
};

/** Runs a script with the doubles before all other programs; checks its grammar first. */
export function dryRun(script: string, variables: Variables = {}): DryRun {
  const folder = mkdtempSync(join(tmpdir(), "seekrl-"));
  const [programs, record] = [mkdtempSync(join(folder, "bin-")), mkdtempSync(join(folder, "record-"))];
  try {
    for (const [name, text] of Object.entries(doubles)) {
      writeFileSync(join(programs, name), text);
      chmodSync(join(programs, name), 0o755);
    }
    const file = join(folder, "script");
    writeFileSync(file, script);
    const grammar = spawnSync("bash", ["-n", file], { encoding: "utf8" });
    assert.deepEqual([grammar.status, grammar.stderr], [0, ""]);
    const options = join(folder, "options");
    writeFileSync(options, "");
    const path = `${programs}:/usr/bin:/bin`;
    const env = { ...variables, PATH: path, RECORD: record, OPTIONS: options };
    const { status, stderr } = spawnSync("bash", [file], { env, encoding: "utf8" });
    assert.equal(stderr, "");
    return { calls: callsIn(record), options: linesOf(options, "\n"), code: status };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function callsIn(record: string): Call[] {
  const files = readdirSync(record).sort();
  const named = (end: string): string[] => files.filter((file) => file.endsWith(end));
  const args = named(".args").map((file) => linesOf(join(record, file), "\0"));
  const variables = named(".env").map((file) =>
    Object.fromEntries(
      linesOf(join(record, file), "\0").map((line) => {
        const at = line.indexOf("=");
        return [line.slice(0, at), line.slice(at + 1)];
      }),
    ),
  );
  return args.map((each, i) => ({ args: each, variables: variables[i] ?? {} }));
}

function linesOf(path: string, end: string): string[] {
  return readFileSync(path, "utf8").split(end).slice(0, -1);
}

/** That calls are the ranks of one job: each once, all meeting at one place, machines filled one after the other. */
export function requireOneJob(
  environments: readonly NodeJS.ProcessEnv[],
  expected: Pick<Place, "size" | "localSize" | "address"> & Partial<Place>,
): void {
  const places = environments.map((environment) => placeOf(environment));
  const port = expected.port ?? places[0]?.port;
  assert.ok(port !== undefined);
  const all = Array.from({ length: expected.size }, (_, rank) => ({
    ...{ isServedByLauncher: false, restarts: 0, port },
    ...expected,
    rank,
    localRank: rank % expected.localSize,
  }));
  assert.deepEqual(places, all);
}
