/** Ranks that only generate beside ranks that only train: more of each, rollouts ahead, and ranks that are killed or fail. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runRanks } from "../../comm/ranks.ts";
import { runTraining, steady, weightsOf } from "../ranks/runs.ts";
import { withFolder } from "../run/kill.ts";

const run = (size: number, what: string, options: object) =>
  runTraining(size, what, "", JSON.stringify(options));

test("two ranks that generate and two that train have the bits of the two alone, whatever these share out", async () => {
  const [alone] = await run(2, "grpo", { rolloutRanks: 0, zero: 3 });
  const ranks = await run(4, "grpo", { rolloutRanks: 2, zero: 3 });
  for (const lines of ranks.slice(0, 2)) assert.deepEqual(steady(lines), steady(alone!));
  for (const lines of ranks.slice(2)) assert.deepEqual(weightsOf(lines), weightsOf(alone!));
});

test("with staleness 1 they work at the same time, of rollouts no older than that, and end with the same weights", async () => {
  const steps = 6;
  const [first, second, generating] = await run(3, "grpo", { rolloutRanks: 1, staleness: 1, steps });
  assert.deepEqual(steady(first!), steady(second!));
  assert.deepEqual(weightsOf(generating!), weightsOf(first!));
  const oldest = first!.slice(0, steps).map((line) => line["staleness/max"] as number);
  assert.equal(Math.max(...oldest), 1, JSON.stringify(oldest));
});

test("a rank that generates is killed: the one that trains names it, and both go on to the weights of one process", async () => {
  const steps = 5;
  const [alone] = await run(1, "grpo", { rolloutRanks: 0, steps });
  await withFolder(async (folder) => {
    const args = ["grpo", folder, JSON.stringify({ rolloutRanks: 1, steps })];
    const [survivor] = await runRanks("../ranks/training-rank.js", import.meta.url, {
      ...{ size: 2, args },
      onLine: (rank, line, children) => {
        // The checkpoint of step 3 is written between its line and the next one.
        if (rank === 0 && (line as { step?: number }).step === 4) children[1]!.kill("SIGKILL");
      },
    });
    const { code, message } = survivor!.lines.at(-1) as { code: string; message: string };
    assert.equal(code, "ERR_REMOTE");
    assert.match(message, /rank 1 has not been heard of for 4 s/);
    const [training, generating] = await runTraining(2, ...args);
    // From the checkpoint of step 3, or of step 4 where the kill came before a weight of step 5 had changed.
    assert.ok([4, 5].includes(training![0]!.step as number), JSON.stringify(training![0]));
    assert.deepEqual(weightsOf(training!), weightsOf(alone!));
    assert.deepEqual(weightsOf(generating!), weightsOf(alone!));
  });
});

for (const options of [{ staleness: 1 }, { staleness: 1, rolloutRanks: 1 }, { rolloutRanks: 2 }]) {
  test(`one rank alone fails between two steps, with ${JSON.stringify(options)}: all end, and say why`, async () => {
    const args = ["grpo", "", JSON.stringify({ ...options, failsAfter: 2 })];
    const ranks = await runRanks("../ranks/training-rank.js", import.meta.url, { size: 3, args });
    for (const { code, lines } of ranks) {
      assert.equal(code, 1);
      assert.match((lines.at(-1) as { message: string }).message, /planted/);
    }
  });
}
