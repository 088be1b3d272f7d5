/** The script that damages inputs runs, and finds nothing in a few cases of every target. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "./project.ts";

const targets = ["gguf", "model", "quantised", "adapter", "state", "run", "schema", "grammar"];

test("damaged inputs of every target are refused with a code, or work", () => {
  const args = [join(projectRoot, "scripts", "fuzz.mjs"), "--seed", "1", "--count", "20"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  const counts = [...stdout.matchAll(/^(\w+): seeds 1 to 20: (\{.*\}), worst/gm)];
  assert.deepEqual(
    counts.map(([, target]) => target),
    targets,
  );
  for (const [line, , outcomes = ""] of counts) {
    const numbers = Object.values(JSON.parse(outcomes) as Record<string, number>);
    assert.equal(
      numbers.reduce((sum, each) => sum + each, 0),
      20,
      line,
    );
  }
});

test("a target that there is not is refused", () => {
  const { status, stderr } = spawnSync(process.execPath, [join(projectRoot, "scripts", "fuzz.mjs"), "none"], {
    encoding: "utf8",
  });
  assert.equal(status, 2);
  assert.match(stderr, /usage: .*gguf/);
});
