/** The README is short, and its program and that of a Node service run as they stand, print what they say, and that is true. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import ts from "typescript";
import { createWorld } from "../apps/world.ts";
import { projectRoot } from "./project.ts";
import { codeBlocks } from "./site/code-blocks.ts";

const programs = codeBlocks().filter(
  ({ file, language, text }) =>
    language === "ts" &&
    (file === "README.md" || (file.endsWith("node-service.md") && /^import /.test(text))),
);
// Inside of the package, so that "seekrl" is the package itself.
const folder = join(projectRoot, "dist", "readme");
after(() => rm(folder, { recursive: true, force: true }));

test("the README has at most 150 lines of at most 120 characters, and its program twelve", async () => {
  const lines = (await readFile(join(projectRoot, "README.md"), "utf8")).trimEnd().split("\n");
  assert.ok(lines.length <= 150, `${lines.length} lines`);
  assert.deepEqual(
    lines.filter((line) => line.length > 120),
    [],
  );
  const program = programs.find(({ file }) => file === "README.md")?.text ?? "";
  assert.equal(program.split("\n").filter((line) => line !== "").length, 12);
});

test("the programs of the README and of a Node service print what stands beside them", async () => {
  assert.deepEqual(
    programs.map(({ file }) => file),
    ["README.md", "docs/tutorials/node-service.md"],
  );
  await mkdir(folder, { recursive: true });
  for (const [i, { text }] of programs.entries()) {
    const options = { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } };
    const file = join(folder, `program-${i}.mjs`);
    await writeFile(file, ts.transpileModule(text, options).outputText);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: projectRoot });
    const expected = [...text.matchAll(/^console\.log\(.*\/\/ (.*)$/gm)].map(([, line]) => line);
    assert.equal(expected.length, 1);
    assert.deepEqual(stdout.trim().split("\n"), expected);
  }
});

test("what their agents answer is so in their world", () => {
  const { passages } = createWorld({ seed: 0 });
  for (const { text, file } of programs) {
    const [, film = "", answer = ""] = /Who directed (\w+)\?[\s\S]*\/\/ (\w+)/.exec(text) ?? [];
    const passage = passages.find(({ title }) => title === film);
    assert.match(passage?.text ?? "", new RegExp(`\\b${answer}\\b`), file);
  }
});
