/** The doctor tries a GPU, emulated. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../../run-cli.ts";

test("the doctor tries a GPU: what is generated there is scored with the same bits, and a step trains", async () => {
  const { code, stdout, stderr } = await runCli("doctor", "--device", "emulated", "--json");
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).checked.tokens, 12);
});
