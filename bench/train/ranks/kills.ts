/**
 * Is a rank that dies at any moment named within 30 s, and does the training go on with the same bits?
 *
 * `node dist/bench/train/ranks/kills.js [--processes 2] [--kills 20] [--steps 8] [--seed 0] [--zero 0]`
 * PPO with a critic on the built-in world by `seekrl launch`. In each round a rank drawn by the seed is killed with SIGKILL at a
 * moment drawn by the seed, then the same command is given again until it ends; its files are compared with those of a run that
 * nobody disturbed.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { digestsBelow } from "../../../lib/base/files/digests.ts";
import { Dice } from "../../../lib/base/random.ts";
import { startJob, trainArgs, type WorldJob, writeWorld } from "./world-job.ts";

const { values } = parseArgs({
  options: {
    processes: { type: "string", default: "2" },
    kills: { type: "string", default: "20" },
    steps: { type: "string", default: "8" },
    seed: { type: "string", default: "0" },
    zero: { type: "string", default: "0" },
  },
});
const [processes, kills] = [Number(values.processes), Number(values.kills)];
const sizes = ["--batch-questions", "8", "--steps", values.steps, "--checkpoint-every", "2"];
const args = [...trainArgs, ...sizes, "--zero", values.zero];

/** The processes of the ranks, as the system numbers them. */
async function ranksOf(launcher: number): Promise<number[]> {
  const text = await readFile(`/proc/${launcher}/task/${launcher}/children`, "utf8").catch(() => "");
  return text.trim().split(" ").filter(Boolean).map(Number);
}

/** What a run leaves, without what the clock says. */
async function endOf(folder: string, out: string): Promise<string> {
  const checkpoints = (await readdir(join(folder, out, "checkpoints"))).filter((name) =>
    name.startsWith("step-"),
  );
  const last = checkpoints.sort().at(-1)!;
  const digests = await digestsBelow(join(folder, out, "checkpoints", last));
  const files = Object.entries(digests).filter(([name]) => name.endsWith(".safetensors"));
  return JSON.stringify([last, files]);
}

async function round(folder: string, number: number, draw: () => number, wholeMs: number) {
  const job: WorldJob = { folder, out: `killed-${number}`, processes, args };
  const { child, end } = startJob(job);
  const [victim, after] = [Math.floor(draw() * processes), draw() * wholeMs];
  await pause(after);
  const pids = await ranksOf(child.pid!);
  const pid = pids[victim];
  const killedAt = performance.now();
  if (pid !== undefined) process.kill(pid, "SIGKILL");
  const { code, stderr } = await end;
  const seconds = (performance.now() - killedAt) / 1000;
  const named = stderr.split("\n").find((line) => /rank \d+ of \d+ /.test(line)) ?? "";
  const again = await startJob(job).end;
  return { victim, after, seconds, code, named, resumed: again.code, end: await endOf(folder, job.out) };
}

const folder = await mkdtemp(join(tmpdir(), "seekrl-kills-"));
try {
  writeWorld(folder);
  const began = performance.now();
  await startJob({ folder, out: "whole", processes, args }).end;
  const wholeMs = performance.now() - began;
  const whole = await endOf(folder, "whole");
  const dice = new Dice(Number(values.seed));
  const draw = (): number => dice.next();
  let [equal, slowest] = [0, 0];
  for (let number = 0; number < kills; number += 1) {
    const { end, ...seen } = await round(folder, number, draw, wholeMs);
    if (end === whole) equal += 1;
    if (seen.code !== 0) slowest = Math.max(slowest, seen.seconds);
    process.stdout.write(`${JSON.stringify({ ...seen, isEqual: end === whole })}\n`);
  }
  process.stdout.write(
    `${equal} of ${kills} ended with the same bytes; slowest end ${slowest.toFixed(1)} s\n`,
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}
