/** Whole trainings of a model that ranks share: the losses of one process, checkpoints that go on, and what is refused. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { assertClose, type Line, runTraining, steady, weightsOf } from "../ranks/runs.ts";

const run = (size: number, what: string, options: object, folder = "") =>
  runTraining(size, what, folder, JSON.stringify(options));

const shared = async (what: string, options: object = {}, folder = ""): Promise<Line[]> =>
  (await run(2, what, { ...options, sharesModel: true }, folder))[0]!;

function temporaryFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "seekrl-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

for (const what of ["grpo", "ppo"]) {
  test(`${what}: two ranks that share the model have the losses and weights of one process`, async () => {
    const [alone] = await run(1, what, { steps: 3 });
    assertClose(await shared(what, { steps: 3 }), alone!);
  });
}

test("a checkpoint goes on with the same bits, masters of bfloat16 weights included", async (context) => {
  const folder = temporaryFolder(context);
  const dtype = "bfloat16";
  const whole = await shared("sft", { dtype, steps: 6 });
  const first = await shared("sft", { dtype, steps: 3 }, folder);
  const second = await shared("sft", { dtype, steps: 6 }, folder);
  const steps = first.filter(({ name }) => name === undefined);
  assert.deepEqual([...steady(steps), ...steady(second)], steady(whole));
});

test("a checkpoint of ranks that share the model goes on in one process", async (context) => {
  const folder = temporaryFolder(context);
  await shared("sft", { steps: 3 }, folder);
  const [again] = await run(1, "sft", { steps: 6 }, folder);
  const [alone] = await run(1, "sft", { steps: 6 });
  assertClose(weightsOf(again!), weightsOf(alone!));
});
