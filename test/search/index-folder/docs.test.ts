/** docs/retrieval.md: its five commands lead from documents to answers, and its program prints what it says. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import ts from "typescript";
import {
  addToIndex,
  buildIndex,
  indexInfo,
  mergeIndexes,
  openIndex,
  removeFromIndex,
} from "../../../lib/search.ts";
import { projectRoot } from "../../project.ts";

const page = readFileSync(join(projectRoot, "docs", "retrieval.md"), "utf8");
const root = await mkdtemp(join(tmpdir(), "seekrl-docs-"));
after(() => rm(root, { recursive: true }));

test("the program of the page prints what stands behind its lines", async () => {
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  const expected = [...code.matchAll(/console\.log.*\/\/ (.*)$/gm)].map(([, text]) => text);
  assert.equal(expected.length, 2);
  const printed: string[] = [];
  const console = { log: (...values: unknown[]) => printed.push(values.join(" ")) };
  const options = { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } };
  const { outputText } = ts.transpileModule(
    `const run = async () => {\n${code.replaceAll('"lamps"', "folder")}\n};`,
    options,
  );
  const known = { addToIndex, buildIndex, indexInfo, mergeIndexes, openIndex, removeFromIndex };
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  const program = new AsyncFunction(
    "console",
    "folder",
    ...Object.keys(known),
    `${outputText}\nawait run();`,
  );
  await program(console, join(root, "lamps"), ...Object.values(known));
  assert.deepEqual(printed, expected);
});
