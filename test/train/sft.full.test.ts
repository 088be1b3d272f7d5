/** Fine-tuning of adapters and with stochastic rounding that is killed with SIGKILL and resumed ends with the same bytes (law 5). */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runAndKill, withFolder } from "./run/kill.ts";
import { runSft, sftRunSteps } from "./run/sft-run.ts";

const lastCheckpoint = (folder: string) => join(folder, "checkpoints", `step-0000${sftRunSteps}`);

for (const form of ["adapter with 8-bit moments", "adapter on nf4", "stochastic rounding"] as const) {
  test(`${form}: killed and resumed, a training ends with the same bytes`, async () => {
    await withFolder(async (folder) => {
      const [whole, killed] = [join(folder, "whole"), join(folder, "killed")];
      await runSft(whole, () => {}, { form });
      for (const step of ["15", "30"]) await runAndKill("sft-run.js", killed, step, form);
      const steps: number[] = [];
      await runSft(killed, ({ step }) => steps.push(step), { form });
      assert.ok(steps[0]! > 1 && steps.at(-1) === sftRunSteps, "it went on from a checkpoint");
      const files = (await readdir(lastCheckpoint(whole))).filter((name) => name.endsWith(".safetensors"));
      assert.equal(files.length, 2);
      for (const file of files) {
        const [a, b] = [whole, killed].map((run) => readFile(join(lastCheckpoint(run), file)));
        assert.ok((await a)?.equals((await b)!), `${file} differs`);
      }
    });
  });
}
