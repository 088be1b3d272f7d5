/** `train --rollout-ranks`: processes that only generate. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, runJson } from "../../run-cli.ts";
import { corpus, folder, index, model, questions } from "../../tiny-corpus.ts";

test("processes that only generate need others that train", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const args = [
    "train",
    "--model",
    model,
    "--index",
    index,
    "--questions",
    questions,
    "--out",
    join(folder, "no"),
  ];
  const { code, stderr } = await runCli(...args, "--rollout-ranks", "1");
  assert.equal(code, 2);
  assert.match(
    stderr,
    /--rollout-ranks: expected more processes than 1, of which at least one trains, got 1/,
  );
});
