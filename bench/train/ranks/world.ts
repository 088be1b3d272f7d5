/**
 * Do several processes learn what one learns?
 *
 * `node dist/bench/train/ranks/world.js [--processes 1,2,4] [--seeds 0,1,2] [--zero 1]`
 * PPO with a critic, GRPO, GRPO of a LoRA adapter and SFT on the built-in world by `seekrl launch`, from the model that imitates a
 * hasty teacher. Prints exact match over the test questions, and by how much the first step, which is of the same weights, differs
 * from that of one process.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { exactMatch, metricsOf, sftArgs, startJob, trainArgs, writeWorld } from "./world-job.ts";

const { values } = parseArgs({
  options: {
    processes: { type: "string", default: "1,2,4" },
    seeds: { type: "string", default: "0,1,2" },
    zero: { type: "string", default: "1" },
  },
});
const numbers = (text: string): number[] => text.split(",").map(Number);

const rl = [...trainArgs, "--steps", "40", "--batch-questions", "16"];
const grpo = [...rl, "--algorithm", "grpo", "--samples", "4"];
const trainings = {
  ppo: rl,
  grpo,
  lora: [...grpo, "--lora", "8", "--learning-rate", "0.003"],
  sft: [...sftArgs, "--epochs", "2", "--batch-size", "32", "--learning-rate", "0.001"],
};

/** The largest relative difference of two steps' figures that do not count or time. */
function gapOf(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): number {
  const names = ["loss", "policy/loss", "policy/entropy", "grad_norm", "reward/mean", "value/loss"];
  const gaps = names.map(
    (name) => Math.abs((a[name] ?? 0) - (b[name] ?? 0)) / Math.max(Math.abs(b[name] ?? 0), 0.1),
  );
  return Math.max(...gaps);
}

const folder = await mkdtemp(join(tmpdir(), "seekrl-ranks-"));
try {
  writeWorld(folder);
  for (const [name, training] of Object.entries(trainings)) {
    for (const seed of numbers(values.seeds)) {
      let alone: Readonly<Record<string, number>> | undefined;
      for (const processes of numbers(values.processes)) {
        const out = `${name}-${seed}-${processes}`;
        const zero = processes === 1 ? [] : ["--zero", values.zero];
        const args = [...training, "--seed", `${seed}`, ...zero];
        const { code, stderr } = await startJob({ folder, out, processes, args }).end;
        if (code !== 0) throw new Error(stderr);
        const [first] = await metricsOf(folder, out);
        alone ??= first!;
        const figures = { em: exactMatch(folder, out), firstStepGap: gapOf(first!, alone) };
        process.stdout.write(`${JSON.stringify({ name, seed, processes, ...figures })}\n`);
      }
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
