/** The whole demo on a GPU, emulated: world, index, RL, imitation, evaluation, beside the same on the CPU. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runDemo } from "../../../apps/world/demo/demo.ts";
import type { DemoSizes } from "../../../apps/world/demo/parts/parts.ts";
import type { DemoSummary } from "../../../apps/world/demo/report/report.ts";

/** The least of everything: two conversations of each kind. */
const sizes: DemoSizes = {
  ...{ reading: 2, start: 2, thorough: 1, demonstrations: 2, worldModel: 1 },
  training: { steps: 1, batchQuestions: 1, samples: 2 },
  numTest: 2,
};
const seed = 3;

type Metrics = Readonly<Record<string, number>>;

async function demoOn(device: string) {
  const out = await mkdtemp(join(tmpdir(), "seekrl-gpu-demo-"));
  try {
    const { summary } = await runDemo({ out, seed, device, sizes });
    const metricsOf = async (name: string): Promise<Metrics[]> => {
      const text = await readFile(join(out, `${name}-seed-${seed}`, "metrics.jsonl"), "utf8");
      return text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    };
    const [single, multi, control] = await Promise.all(["single", "multi", "control"].map(metricsOf));
    return { summary, training: [...single!, ...multi!], imitation: control! };
  } finally {
    await rm(out, { recursive: true });
  }
}

function greedyOf(summary: DemoSummary) {
  const models = [summary.single.before, summary.single.after, summary.multi.before, summary.multi.after];
  return [...models, summary.control.single, summary.control.multi].map(({ patchy, plain }) => [
    ...[patchy.greedy, plain.greedy],
  ]);
}

function areNear(
  actual: number | undefined,
  expected: number | undefined,
  share: number,
  what: string,
): void {
  const difference = Math.abs((actual ?? Number.NaN) - (expected ?? Number.NaN));
  assert.ok(difference <= share * Math.abs(expected ?? 0) + 1e-3, `${what}: ${actual}, ${expected}`);
}

test("the demo on a GPU says what it says on the CPU", async () => {
  const [gpu, cpu] = [await demoOn("emulated"), await demoOn("cpu")];
  // Greedy words and searches are the same; drawn ones may be where two tokens share the draw.
  assert.deepEqual(greedyOf(gpu.summary), greedyOf(cpu.summary));
  // The GPU's numbers have 8 bits between products, the CPU's 24.
  for (const [i, step] of cpu.training.entries()) {
    const own = gpu.training[i] ?? {};
    for (const key of ["reward/mean", "tokens", "search/rounds"]) assert.equal(own[key], step[key], key);
    for (const key of ["policy/loss", "policy/entropy"]) areNear(own[key], step[key], 0.05, key);
    // Law 4, on a GPU too: what was drawn is trained with the number it was drawn with.
    assert.equal(own["logprob_gap/max"], 0);
  }
  for (const [i, step] of cpu.imitation.entries()) {
    areNear(gpu.imitation[i]?.loss, step.loss, 0.01, "loss");
    areNear(gpu.imitation[i]?.grad_norm, step.grad_norm, 0.05, "gradient");
  }
});
