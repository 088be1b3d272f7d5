/** What ranks share out (ZeRO): the numbers of one process at every level, its bits where they are asked for, and a share of its memory. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runRanks } from "../../comm/ranks.ts";
import { assertClose, runTraining, steady, weightsOf } from "./runs.ts";

const run = (size: number, what: string, options: object, folder = "") =>
  runTraining(size, what, folder, JSON.stringify(options));

function temporaryFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "seekrl-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

for (const [what, size] of [
  ["sft", 4],
  ["adapter", 2],
  ["ppo", 2],
] as const) {
  test(`${what}: at every level ranks have the losses and weights of one process`, async () => {
    const [alone] = await run(1, what, { zero: 3 });
    for (const zero of [1, 2, 3]) {
      const ranks = await run(size, what, { zero });
      for (const lines of ranks) {
        assertClose(lines, alone!);
        assert.deepEqual(weightsOf(lines), weightsOf(ranks[0]!));
      }
    }
  });
}

for (const [what, ...levels] of [
  ["sft", 3, 2],
  ["random", 2, 1],
  ["ppo", 1, 3],
] as const) {
  test(`${what}: with gradient shards one, two and four ranks have the same bits at any level`, async () => {
    const [alone] = await run(1, what, { gradientShards: 4 });
    for (const [i, zero] of levels.entries()) {
      const ranks = await run([4, 2][i]!, what, { gradientShards: 4, zero });
      for (const lines of ranks) assert.deepEqual(steady(lines), steady(alone!));
    }
  });
}

test("a checkpoint of some ranks goes on with others, at another level, with the same bits", async (context) => {
  const folder = temporaryFolder(context);
  const gradientShards = 4;
  const [alone] = await run(1, "sft", { gradientShards, steps: 24 });
  const lines: object[] = [];
  for (const [i, [size, zero]] of [
    [4, 3],
    [2, 1],
    [1, 0],
    [4, 2],
  ].entries()) {
    const [first] = await run(size!, "sft", { gradientShards, zero, steps: 6 * (i + 1) }, folder);
    lines.push(...steady(i < 3 ? first!.filter(({ name }) => name === undefined) : first!));
  }
  assert.deepEqual(lines, steady(alone!));
});

for (const [what, ...levels] of [
  ["sft", 0, 3],
  ["grpo", 1, 3],
] as const) {
  test(`${what} in bfloat16 with masters: two ranks have at any level the bits of one process`, async () => {
    const dtype = "bfloat16";
    const [alone] = await run(1, what, { dtype, gradientShards: 2 });
    for (const zero of levels) {
      const [first] = await run(2, what, { dtype, gradientShards: 2, zero });
      assert.deepEqual(steady(first!), steady(alone!));
    }
  });
}

test("level 1 has the bits of level 0 on two ranks: sums of two have one order", async () => {
  const [whole] = await run(2, "grpo", { dtype: "bfloat16" });
  const [shared] = await run(2, "grpo", { dtype: "bfloat16", zero: 1 });
  assert.deepEqual(steady(shared!), steady(whole!));
});

test("gradients that travel in bfloat16 train as those in float32 do, alike on all ranks", async () => {
  const [exact] = await run(2, "sft", { steps: 4 });
  for (const zero of [0, 1, 3]) {
    const [first, second] = await run(2, "sft", { steps: 4, zero, reduceDtype: "bfloat16" });
    assert.deepEqual(steady(first!), steady(second!));
    assert.notDeepEqual(steady(first!), steady(exact!));
    // Of gradients that are off by 2^-8 at most, AdamW's steps of which losses follow are off by little more.
    for (const [i, { loss }] of exact!.slice(0, -3).entries())
      assert.ok(Math.abs(Number(first![i]!["loss"]) / Number(loss) - 1) < 2 ** -8);
  }
});

test("each rank keeps its share of the optimiser's state, and no more", async (context) => {
  const folder = temporaryFolder(context);
  await run(4, "sft", { zero: 1, steps: 2 }, folder);
  const checkpoint = join(folder, "checkpoints", "step-000002");
  const parts = readdirSync(checkpoint).filter((name) => name.startsWith("trainer-"));
  assert.equal(parts.length, 4);
  const sizes = parts.map((name) => statSync(join(checkpoint, name)).size);
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  // Names of pieces take a part of files as small as these.
  for (const size of sizes) assert.ok(size < (whole / 4) * 1.4, `${size} of ${whole}`);
});

test("at level 1 a process's memory grows by its share of the optimiser's state and a tenth of it all", {
  skip: process.platform !== "linux" && "looks into /proc",
}, async () => {
  const ranks = await runRanks("./memory-rank.js", import.meta.url, { size: 2, args: ["1"] });
  for (const { code, lines } of ranks) {
    const [{ numParameters, taken }] = lines as [{ numParameters: number; taken: number }];
    const [gradients, optimizer] = [4 * numParameters, 8 * numParameters];
    const share = gradients + optimizer / 2;
    assert.equal(code, 0);
    // The lower bound is of the measuring: idle memory of what came before is used again.
    assert.ok(taken > 0.95 * share && taken < share + optimizer / 10, `${taken / share} of ${share}`);
  }
});
