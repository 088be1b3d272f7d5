/** What a training prints of its steps. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sftStepLine } from "../../../apps/cli/report/training-report.ts";

test("a line of fine-tuning tells when it will be done, as soon as there is a pace", () => {
  const metrics = { step: 5, loss: 1.25, grad_norm: 0.5, tokens: 3000, "seconds/train": 1.5 };
  const line = (secondsLeft: number | undefined): string =>
    sftStepLine(metrics as Parameters<typeof sftStepLine>[0], 20, secondsLeft);
  const steps = "step 5/20  loss 1.2500  grad norm 0.500  2,000 tokens/s  1.5 s";
  assert.equal(line(undefined), steps);
  assert.equal(line(75), `${steps}  ETA 75 s`);
  assert.equal(line(7500), `${steps}  ETA 2 h 5 min`);
});
