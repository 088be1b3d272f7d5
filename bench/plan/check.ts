/**
 * How far from the truth is the simulation behind `seekrl plan`, for 2 and 4 processes of this machine?
 *
 * `nice -n -20 node dist/bench/plan/check.js [--repeats 4] [--rounds 3] [--out FILE] [--from FILE]...`. Measures the parts with 1, 2 and 4 processes side by
 * side, a reduction between two, and the smallest step; predicts steps of SFT and of reinforcement learning by 1, 2 and 4
 * processes, those by which the simulation was made and others, and measures them; `--from` adds what other calls wrote by `--out`, and with `--rounds 0` measures nothing. No peer predicts these times; what is compared is prediction and measurement.
 */
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../../apps/cluster/free-port.ts";
import { type MeasuredPoint, measuredParts } from "../../apps/plan/measured.ts";
import { type PlannedStep, stepSeconds } from "../../apps/plan/step.ts";
import type { Workload } from "../../apps/plan/workload.ts";
import { decoderConfig } from "../../lib/model/config/config.ts";
import { type CheckedStep, heldOut, known, miniBatches, shape } from "./sizes.ts";

const { values } = parseArgs({
  options: {
    ...{ repeats: { type: "string", default: "4" }, rounds: { type: "string", default: "3" } },
    out: { type: "string" },
    from: { type: "string", multiple: true, default: [] },
  },
});
const cores = availableParallelism();

/** Runs a job of some processes. @returns what rank 0 says */
async function job<Result>(what: string, size: number): Promise<Result> {
  const port = await freePort();
  const ranks = Array.from({ length: size }, (_, rank) => rankOf(what, { rank, size, port }));
  const outputs = await Promise.all(ranks);
  return JSON.parse(outputs[0]!) as Result;
}

async function rankOf(
  what: string,
  { rank, size, port }: { readonly rank: number; readonly size: number; readonly port: number },
): Promise<string> {
  const place = { RANK: rank, WORLD_SIZE: size, LOCAL_RANK: rank, LOCAL_WORLD_SIZE: size, MASTER_PORT: port };
  const texts = Object.fromEntries(Object.entries(place).map(([name, value]) => [name, String(value)]));
  const own = { MASTER_ADDR: "127.0.0.1", TORCHELASTIC_USE_AGENT_STORE: "False", OMP_NUM_THREADS: "1" };
  const file = join(import.meta.dirname, "rank.js");
  const env = { ...process.env, ...(size === 1 ? {} : { ...texts, ...own }), OMP_NUM_THREADS: "1" };
  const child = spawn(process.execPath, [file, what, "--repeats", values.repeats], {
    ...{ env, stdio: ["ignore", "pipe", "inherit"] as const },
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`${what}, rank ${rank} of ${size}: exit code ${code}`);
  return output;
}

interface Parts {
  readonly train: { readonly sft: MeasuredPoint[]; readonly rl: MeasuredPoint[] };
  readonly decode: MeasuredPoint[];
  readonly read: MeasuredPoint[];
  readonly forwardSecondsPerToken: number;
  readonly optimiserSecondsPerWeight: number;
}

interface Reduction {
  readonly found: readonly { readonly weights: number; readonly apart: number; readonly together: number }[];
}

interface Step {
  readonly seconds: number;
  readonly rollout?: number;
}

const sizes = [1, 2, 4];
const steps: Readonly<Record<string, CheckedStep>> = { ...known, ...heldOut };
const jobs = [
  ...sizes.map((size) => ["parts", size] as const),
  ...[["collective", 2] as const, ["tiny", 1] as const, ["tiny", 2] as const],
  ...Object.keys(steps).flatMap((name) => sizes.map((size) => [name, size] as const)),
];

/** The least of each number of several rounds: what other work of the machine adds is never negative. */
function least<Result>(a: Result, b: Result): Result {
  if (typeof a === "number") return Math.min(a, b as number) as Result;
  const entries = Object.entries(a as object).map(([key, value]) => [key, least(value, (b as never)[key])]);
  return (Array.isArray(a) ? entries.map(([, value]) => value) : Object.fromEntries(entries)) as Result;
}

const outcomes = new Map<string, unknown>();
for (const file of values.from) merge(JSON.parse(await readFile(file, "utf8")));

function merge(round: Readonly<Record<string, unknown>>): void {
  for (const [name, now] of Object.entries(round)) {
    const before = outcomes.get(name);
    outcomes.set(name, before === undefined ? now : least(before, now));
  }
}

for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const [what, size] of jobs) {
    const now = await job<unknown>(what, size);
    merge({ [`${what} ${size}`]: now });
    process.stderr.write(`${round} ${what} ${size} ${JSON.stringify(now)}\n`);
  }
}
const outcomeOf = <Result>(what: string, size: number): Result => outcomes.get(`${what} ${size}`) as Result;

const partsOf = new Map(sizes.map((size) => [size, outcomeOf<Parts>("parts", size)]));
const { found } = outcomeOf<Reduction>("collective", 2);
const tiny = [outcomeOf<Step>("tiny", 1), outcomeOf<Step>("tiny", 2)];

/** Of two numbers of weights: a reduction of 4 bytes each between two processes is `bytes / speed + 2 latencies`. */
function linkOf() {
  const [few, many] = found.map(({ weights, apart, together }) => ({
    bytes: 4 * weights,
    seconds: together - apart,
  }));
  const bytesPerSecond = (many!.bytes - few!.bytes) / (many!.seconds - few!.seconds);
  return { bytesPerSecond, latencySeconds: Math.max(0, few!.seconds - few!.bytes / bytesPerSecond) / 2 };
}

const link = linkOf();
const weights = found[0]!.weights;
const texts = { samples: 1, searches: 0, observationTokens: 0, spread: 0, searchSeconds: 0, scorings: 0 };
const bare = { ...texts, hasCritic: false, hasReference: false, isGenerated: false, epochs: 1, updates: 1 };

function workOf({
  texts: { texts: questions, length } = { texts: 0, length: 0 },
  rollouts,
}: CheckedStep): Workload {
  if (rollouts === undefined) return { ...bare, questions, promptTokens: 1, responseTokens: length - 1 };
  return {
    ...{ ...bare, isGenerated: true, updates: miniBatches, searches: 1 },
    ...{ questions: rollouts.questions, samples: rollouts.samples, promptTokens: rollouts.prompt },
    ...{ responseTokens: rollouts.turn, observationTokens: rollouts.observation },
    searchSeconds: rollouts.searchMs / 1000,
  };
}

/**
 * What a step of reinforcement learning takes whatever its size: the smallest one's time without its two updates and
 * reductions, for one process, and for two with all that they tell each other.
 */
function fixedSeconds(size: number): number {
  const update = partsOf.get(Math.min(size, 2))!.optimiserSecondsPerWeight * weights;
  const reduction = size === 1 ? 0 : (4 * weights) / link.bytesPerSecond + 2 * link.latencySeconds;
  return Math.max(0, tiny[Math.min(size, 2) - 1]!.seconds - miniBatches * (update + reduction));
}

/**
 * Seconds of a step. Processes beyond the cores have turns on them: `from` names the processes whose parts are taken, fewer
 * than `size` take so many times longer.
 */
function predicted(checked: CheckedStep, size: number, from: number) {
  const isRl = checked.rollouts !== undefined;
  const turns = Math.max(1, size / cores);
  const { train, ...measured } = partsOf.get(from)!;
  const slowdown = turns / Math.max(1, from / cores);
  const own = { ...measured, train: isRl ? train.rl : train.sft };
  const fixed = isRl ? fixedSeconds(size) * (turns / slowdown) : 0;
  const parts = measuredParts({ ...own, stepSeconds: fixed }, slowdown);
  // The link is made of copies by the same cores.
  const slow = { bytesPerSecond: link.bytesPerSecond / turns, latencySeconds: link.latencySeconds * turns };
  const device = { flops: 0, bytesPerSecond: 0, memoryBytes: 0, link: slow };
  const step: PlannedStep = {
    ...{ parts, workload: workOf(checked), config: decoderConfig(shape) },
    layout: { zero: size === 1 ? 0 : checked.zero, tensor: 1, rolloutDevices: 0 },
    cluster: { devices: size, perMachine: size, device, network: slow },
    sizes: {
      ...{ trained: weights, trainedBytes: 4 * weights, stateBytes: 8 * weights },
      ...{ microBatchTokens: 4096, recomputed: 0, room: 256, staleness: 0, overlap: 0, checkpointEvery: 0 },
    },
  };
  return stepSeconds(step);
}

const seconds = (value: number): string => value.toFixed(value < 1 ? 3 : 2);
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const rows: string[] = [];
/** By parts of one process, of one a core, and of as many as the step has. */
const worst = { known: [0, 0, 0], heldOut: [0, 0, 0] };
for (const [name, checked] of Object.entries(steps)) {
  const errorsOfKind = name in known ? worst.known : worst.heldOut;
  for (const size of sizes) {
    const real = outcomeOf<Step>(name, size);
    const plans = [1, Math.min(size, cores), size].map((from) => predicted(checked, size, from));
    const errors = plans.map(({ total }) => total / real.seconds - 1);
    if (size > 1)
      for (const [i, error] of errors.entries())
        errorsOfKind[i] = Math.max(errorsOfKind[i]!, Math.abs(error));
    const plan = plans[1]!;
    const pieces = [plan.rollouts, plan.training, plan.collectives, plan.optimiser, plan.fixed].map(seconds);
    const measured = real.rollout === undefined ? "" : seconds(real.rollout);
    const cells = [name, size, ...pieces, seconds(plan.total), seconds(real.seconds), measured];
    rows.push(`| ${[...cells, ...errors.map(percent)].join(" | ")} |`);
  }
}
const head = [
  ...["step", "processes", "rollouts", "training", "collectives", "update", "fixed", "predicted", "measured"],
  ...["its rollouts", "error, parts of one", "error, parts of one a core", "error, parts of as many"],
];
const result = { worst, link, parts: Object.fromEntries(partsOf), found, tiny };
const table = [`| ${head.join(" | ")} |`, `|${head.map(() => "---|").join("")}`, ...rows].join("\n");
process.stdout.write(`${table}\n${JSON.stringify(result)}\n`);
if (values.out !== undefined) await writeFile(values.out, JSON.stringify(Object.fromEntries(outcomes)));
