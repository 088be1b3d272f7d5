import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Critic } from "../../../lib/train/learner/critic.ts";
import type { Learner } from "../../../lib/train/learner/learner.ts";
import { scoreSequences, Trainer } from "../../../lib/train/learner/trainer.ts";
import { maxDifference } from "../tiny.ts";
import {
  goldenCritic,
  goldenFolder,
  goldenModel,
  goldenModels,
  goldenSequences,
  readTensors,
} from "./golden.ts";

// f32 against f64: the tolerance of the issue.
const relative = 1e-4;

const largest = (values: Float32Array): number => values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

async function checkGradients(
  learner: Pick<Learner, "gradient">,
  expected: ReadonlyMap<string, Float32Array>,
  prefix: string,
): Promise<void> {
  let overall = 0;
  for (const [name, values] of expected)
    if (name.startsWith(prefix)) overall = Math.max(overall, largest(values));
  for (const [name, values] of expected) {
    if (!name.startsWith(prefix)) continue;
    const ours = await learner.gradient(name.slice(prefix.length));
    // A gradient that is zero in theory (a key's bias shifts all scores alike) is noise on both sides.
    const bound = relative * largest(values) + 1e-6 * overall;
    const difference = maxDifference(ours, values);
    assert.ok(difference <= bound, `${name}: differs by ${difference}, allowed ${bound}`);
  }
}

function close(actual: number, expected: number, name: string): void {
  assert.ok(
    Math.abs(actual - expected) <= relative * Math.abs(expected) + 1e-6,
    `${name}: ${actual}, ${expected}`,
  );
}

for (const { name, losses } of goldenModels) {
  test(`log-probabilities, losses and gradients of ${name} equal transformers'`, async () => {
    await using model = await goldenModel(name);
    await using trainer = await Trainer.open(model);
    const gradients = await readTensors(join(goldenFolder, name, "gradients.safetensors"));
    for (const [loss, golden] of Object.entries(losses)) {
      const { temperature = 1 } = golden.options;
      const scores = await scoreSequences(model, goldenSequences, { temperature, maxTokens: 18 });
      for (const [i, logprobs] of golden.logprobs.entries()) {
        assert.ok(maxDifference(scores.logprobs[i]!, Float32Array.from(logprobs)) < 1e-4);
        assert.ok(maxDifference(scores.entropies[i]!, Float32Array.from(golden.entropies[i]!)) < 1e-4);
      }
      await trainer.zeroGradients();
      const stats = await trainer.accumulate(goldenSequences, { ...golden.options, maxTokens: 18 });
      close(stats.loss, golden.loss, `${loss} loss`);
      await checkGradients(trainer, gradients, `${loss}.`);
    }
  });
}

test("values, the clipped value loss and its gradients equal the reference's", async () => {
  await using model = await goldenModel("qwen2");
  await using critic = await Critic.open(model);
  await critic.loadState(join(goldenFolder, "qwen2", "critic_state.safetensors"), 0);
  const values = await critic.values(goldenSequences, { maxTokens: 18 });
  for (const [i, expected] of goldenCritic.values.entries()) {
    assert.ok(maxDifference(values[i]!, Float32Array.from(expected)) < 1e-4);
  }
  const stats = await critic.accumulate(goldenSequences, { clip: 0.5, maxTokens: 18 });
  close(stats.loss, goldenCritic.loss, "value loss");
  const gradients = await readTensors(join(goldenFolder, "qwen2", "value_gradients.safetensors"));
  await checkGradients(critic, gradients, "");
});

test("a critic begins with values of zero", async () => {
  await using model = await goldenModel("qwen2");
  await using critic = await Critic.open(model);
  const values = await critic.values(goldenSequences);
  assert.ok(values.every((one, i) => one.length === goldenSequences[i]!.rows.length && largest(one) === 0));
});
