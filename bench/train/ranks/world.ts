/**
 * Do several processes learn what one learns?
 *
 * `node dist/bench/train/ranks/world.js [--processes 1,2,4] [--seeds 0,1,2] [--steps 16] [--zero 1]`
 * GRPO, PPO with a critic, and GRPO of a LoRA adapter on the built-in world by `seekrl launch`, evaluated at the end. Prints the
 * loss of the first step, which is of the same weights, beside that of one process, and exact match.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { metricsOf, startJob, writeWorld } from "./world-job.ts";

const { values } = parseArgs({
  options: {
    processes: { type: "string", default: "1,2,4" },
    seeds: { type: "string", default: "0,1,2" },
    steps: { type: "string", default: "16" },
    zero: { type: "string", default: "1" },
  },
});
const numbers = (text: string): number[] => text.split(",").map(Number);

const trainings = {
  grpo: ["--recipe", "search-r1,algorithm=grpo,worldPrompt=true"],
  ppo: ["--recipe", "search-r1,worldPrompt=true"],
  lora: ["--recipe", "search-r1,algorithm=grpo,worldPrompt=true", "--lora", "rank=8"],
};

/** The largest relative difference of two steps' figures that do not count or time. */
function gapOf(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): number {
  const names = ["policy/loss", "policy/entropy", "grad_norm", "reward/mean", "value/loss"];
  const gaps = names.map(
    (name) => Math.abs((a[name] ?? 0) - (b[name] ?? 0)) / Math.max(Math.abs(b[name] ?? 0), 0.1),
  );
  return Math.max(...gaps);
}

const folder = await mkdtemp(join(tmpdir(), "seekrl-ranks-"));
try {
  writeWorld(folder);
  for (const [name, recipe] of Object.entries(trainings)) {
    for (const seed of numbers(values.seeds)) {
      let alone: Readonly<Record<string, number>> | undefined;
      for (const processes of numbers(values.processes)) {
        const out = `${name}-${seed}-${processes}`;
        const sizes = ["--steps", values.steps, "--batch-questions", "16", "--seed", `${seed}`];
        const evaluation = ["--eval-questions", "world/test.jsonl", "--eval-every", values.steps];
        const zero = processes === 1 ? [] : ["--zero", values.zero];
        const args = [...recipe, ...sizes, ...evaluation, ...zero];
        const began = performance.now();
        const { code, stderr } = await startJob({ folder, out, processes, args }).end;
        if (code !== 0) throw new Error(stderr);
        const metrics = await metricsOf(folder, out);
        alone ??= metrics[0]!;
        const figures = { em: metrics.at(-1)!["eval/em"], firstStepGap: gapOf(metrics[0]!, alone) };
        const seconds = (performance.now() - began) / 1000;
        process.stdout.write(`${JSON.stringify({ name, seed, processes, ...figures, seconds })}\n`);
      }
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
