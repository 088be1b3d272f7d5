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

test("a checkpoint goes on with the same bits, on ranks that share the model, and on one process", async (context) => {
  const folder = temporaryFolder(context);
  const whole = await shared("sft", { steps: 12 });
  const first = await shared("sft", { steps: 6 }, folder);
  const second = await shared("sft", { steps: 12 }, folder);
  const steps = first.filter(({ name }) => name === undefined);
  assert.deepEqual([...steady(steps), ...steady(second)], steady(whole));
  const third = await run(1, "sft", { steps: 14 }, folder);
  const [alone] = await run(1, "sft", { steps: 14 });
  assertClose(weightsOf(third[0]!), weightsOf(alone!));
});
