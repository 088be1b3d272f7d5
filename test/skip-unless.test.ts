/** What a test that a machine cannot run does there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { skipUnless } from "./skip-unless.ts";

test("a test that a machine cannot run is skipped with the reason, and fails where all are to run", () => {
  assert.equal(skipUnless(true, "no disks", { SEEKRL_TEST_ALL: "1" }), false);
  assert.equal(skipUnless(false, "no disks", {}), "no disks");
  assert.throws(
    () => skipUnless(false, "no disks", { SEEKRL_TEST_ALL: "1" }),
    /expected every test to run: no disks/,
  );
});
