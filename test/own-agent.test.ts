/** The program of docs/your-own-agent.md runs as it stands there, and is as short as it says. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import ts from "typescript";
import { projectRoot } from "./project.ts";

const page = readFileSync(join(projectRoot, "docs", "your-own-agent.md"), "utf8");
const [, program = ""] = /^```ts\n([\s\S]*?)^```$/m.exec(page) ?? [];

/** From one comment of the program to the next. */
function partOf(name: string): string[] {
  const [, part = ""] = new RegExp(`^// The ${name}:.*\\n([\\s\\S]*?)\\n\\n`, "m").exec(program) ?? [];
  return part.split("\n");
}

test("an agent with its tool and its reward has at most 30 lines, the reward at most ten", () => {
  const lines = ["tool", "agent", "reward"].map((name) => partOf(name));
  assert.ok(lines.every((part) => part.length > 2));
  assert.ok(lines.flat().length <= 30, `${lines.flat().length} lines`);
  assert.ok(lines[2]!.length <= 10);
});

test("an agent of one's own is trained on the world by the program of the page", async () => {
  // Inside of the package, so that "seekrl" is the package itself.
  const folder = join(projectRoot, "dist", "own-agent");
  await mkdir(folder, { recursive: true });
  const options = { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } };
  const short = program.replace("slice(0, 200)", "slice(0, 20)").replace("questions: 64", "questions: 8");
  const file = join(folder, "program.mjs");
  await writeFile(file, ts.transpileModule(short, options).outputText);
  const env = { ...process.env, STEPS: "2" };
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: projectRoot, env });
  const lines = stdout.trim().split("\n");
  assert.match(lines[0] ?? "", /^before: exact match \d\.\d\d, look-ups \d\.\d\d$/);
  assert.match(lines[2] ?? "", /^step 2: reward -?\d\.\d\d$/);
  assert.match(lines[3] ?? "", /^after: exact match/);
  await rm(folder, { recursive: true });
});
