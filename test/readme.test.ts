/** The TypeScript of the README runs as it stands there, prints what it says, and that is true. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import ts from "typescript";
import { createWorld } from "../apps/world.ts";
import { projectRoot } from "./project.ts";

const readme = readFileSync(join(projectRoot, "README.md"), "utf8");
const blocks = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);

test("the README has an example of about 20 lines", () => {
  assert.ok(blocks.length >= 1);
  for (const block of blocks) assert.ok(block.split("\n").length <= 26, block);
});

test("the examples of the README print what stands beside them", async () => {
  // Inside of the package, so that "seekrl" is the package itself.
  const folder = join(projectRoot, "dist", "readme");
  await mkdir(folder, { recursive: true });
  for (const [i, block] of blocks.entries()) {
    const options = { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } };
    const file = join(folder, `example-${i}.mjs`);
    await writeFile(file, ts.transpileModule(block, options).outputText);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: projectRoot });
    const expected = [...block.matchAll(/^console\.log\(.*\/\/ (.*)$/gm)].map(([, line]) => line);
    assert.deepEqual(stdout.trim().split("\n"), expected);
  }
  await rm(folder, { recursive: true });
});

test("what the README's agent answers is so in its world", () => {
  const [, answer = "", query = ""] = /\/\/ (\w+), after asking: who directed (\w+)$/m.exec(readme) ?? [];
  const film = createWorld({ seed: 0 }).passages.find(({ title }) => title === query);
  assert.match(film?.text ?? "", new RegExp(`\\b${answer}\\b`));
});
