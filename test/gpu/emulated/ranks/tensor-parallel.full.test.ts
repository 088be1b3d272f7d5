/** A model that several GPUs share: the tokens, scores and steps of one GPU, and what becomes of a sum that is aborted. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runRanks } from "../../../comm/ranks.ts";
import { projectRoot } from "../../../project.ts";
import { shapes } from "../../models.ts";
import { answerOf, modelOf, type SharedCase, type SharedNumbers } from "./shared.ts";

const emulation = join(projectRoot, "build", "cmake", "Release", "libseekrl_emulated.so");
const skip = existsSync(emulation) ? false : "not built: SEEKRL_TESTS is off";

async function onGpus(size: number, cases: readonly SharedCase[]): Promise<SharedNumbers[]> {
  const ranks = await runRanks("./shared-rank.js", import.meta.url, { size, args: [JSON.stringify(cases)] });
  assert.deepEqual(
    ranks.map(({ code, stderr }) => [code, stderr]),
    Array(size).fill([0, ""]),
    JSON.stringify(ranks.map(({ lines }) => lines.at(-1))),
  );
  return ranks[0]!.lines as SharedNumbers[];
}

async function alone(wanted: SharedCase): Promise<SharedNumbers> {
  await using model = await modelOf(wanted);
  return await answerOf(model, wanted);
}

/** Each list beside the largest of its numbers. */
function assertNear(actual: SharedNumbers, expected: SharedNumbers, tolerance: number): void {
  assert.deepEqual(actual.ids, expected.ids);
  assert.ok(actual.areScored);
  for (const [name, values] of Object.entries(expected.numbers)) {
    const found = actual.numbers[name]!;
    assert.equal(found.length, values.length, name);
    const scale = Math.max(...values.map(Math.abs), 1e-2);
    const gap = Math.max(...values.map((value, i) => Math.abs(value - found[i]!)));
    assert.ok(gap <= tolerance * scale, `${name}: ${gap / scale} of ${scale}`);
  }
}

async function compare(size: number, cases: readonly SharedCase[], tolerance: number): Promise<void> {
  const told = await onGpus(size, cases);
  for (const [i, wanted] of cases.entries()) assertNear(told[i]!, await alone(wanted), tolerance);
}

const dense = Object.keys(shapes).filter((name) => !name.includes("experts"));

test("two GPUs draw the tokens of one, and score them to the bit as they drew them", { skip }, () =>
  compare(
    2,
    dense.map((shape) => ({ shape, what: "draws" })),
    // Parts of products are f32 until they are summed.
    1e-6,
  ),
);

test(
  "two GPUs draw the tokens of one of a mixture of experts, whose parts are rounded to 8 bits",
  { skip },
  () => compare(2, [{ shape: "four experts, each weighed", what: "draws" }], 0.01),
);

test("four GPUs draw the tokens of one", { skip }, () =>
  compare(4, [{ shape: "four key heads", what: "draws" }], 1e-6),
);

test("what GPUs quantise of their slices is scored, to the bit, as it was drawn", { skip }, async () => {
  const [told] = await onGpus(2, [{ shape: "biases and a tied head", what: "draws", weights: "nf4" }]);
  assert.ok(told!.areScored);
});

test("two GPUs make the losses, gradients, norms and weights of one", { skip }, () =>
  compare(
    2,
    [
      { shape: "four experts, each weighed", what: "steps" },
      { shape: "biases and a tied head", what: "adapter steps" },
      { shape: "biases and a tied head", what: "values" },
    ],
    // Of each hidden state a gradient of 8 bits from each GPU.
    0.03,
  ),
);

test("a sum between GPUs that is aborted ends the draws of rank 0, and names who is gone", {
  skip,
}, async () => {
  const cases: SharedCase[] = [{ shape: "biases and a tied head", what: "draws" }];
  const ranks = await runRanks("./shared-rank.js", import.meta.url, {
    size: 2,
    args: [JSON.stringify(cases), "30"],
  });
  const [first, second] = ranks.map(({ lines }) => lines.at(-1) as { code: string; message: string });
  assert.deepEqual([first!.code, second!.code], ["ERR_REMOTE", "ERR_REMOTE"]);
  assert.match(first!.message, /rank 1/);
});
