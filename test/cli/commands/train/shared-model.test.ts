/** `--tensor-parallel` from outside: processes of a launch that share one model train and evaluate it as one would. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCli } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const model = join(folder, "model");
await writeTinyModel(model);
const data = join(folder, "sft.jsonl");
await writeFile(
  data,
  `${JSON.stringify({ prompt: "capital of France?", completion: "<answer> Paris </answer>" })}\n`,
);
const tuning = (out: string): string[] => [
  ...["sft", "--model", model, "--data", data, "--epochs", "3", "--batch-size", "1"],
  ...["--out", join(folder, out)],
];

test("another number of processes, and what they cannot share out besides, are usage errors", async () => {
  const calls = [
    [
      ["--tensor-parallel", "2"],
      /^error: --tensor-parallel: expected 1 or the number of processes, 1, got 2\. Remedy: /,
    ],
    [["--tensor-parallel", "3"], /^error: --tensor-parallel: expected a power of two, got 3$/m],
    [
      ["--tensor-parallel", "2", "--zero", "1"],
      /^error: --zero: expected without --tensor-parallel\. Remedy: /,
    ],
  ] as const;
  for (const [args, message] of calls) {
    const { code, stderr } = await runCli(...tuning("refused"), ...args);
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
});
