/** The calls that pages of the documentation show, one after the other as a reader would run them, on fewer questions. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { projectRoot } from "../project.ts";
import { withCallsJoined, wordsOf } from "../site/code-blocks.ts";
import { runCliOn } from "./run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "seekrl-"));
after(() => rmSync(folder, { recursive: true }));

const page = readPage("cli.md");
const calls = callsOf(page);

function readPage(name: string): string {
  return readFileSync(join(projectRoot, "docs", name), "utf8");
}

function callsOf(text: string): string[] {
  return [...withCallsJoined(text).matchAll(/^npx seekrl (.*)$/gm)].map(([, call = ""]) => call);
}

/** Trainings of minutes, services that run until they are stopped, models of the hub: each has tests of its own. */
const elsewhere =
  /^(?:demo|generate --model Qwen\/|mcp serve|launch|reward serve|retriever serve|search --retriever|search --shards|chat --endpoint|serve|studio)\b/;

/** What is asked for less of here. */
const shortened: readonly (readonly [RegExp, string])[] = [
  [/--demonstrations \d+/, "--demonstrations 48"],
  [/--num-questions 200/, "--num-questions 12"],
  [/^(train .*)$/, "$1 --batch-questions 2"],
  [/^(train --config .*)$/, "$1 --steps 1"],
];

/** What a call must say besides ending well. */
const expected: readonly (readonly [RegExp, RegExp])[] = [
  [/^doctor/, /^cpu {7}runs$/m],
  [/^generate .*temperature 0/, /<search> who directed Nightwinter <\/search>/],
  [/^generate .*regex/, /^ [A-Z][a-z]{2,9} [A-Z][a-z]{2,9}/],
  [/^search --index index --query/, /who directed Nightwinter\n +\S+ +Nightwinter: /],
  [/^index info/, /passages/],
  [/^corpus check/, /100\.0 %/],
  [/^ask /, /found: Nightwinter[\s\S]*answer: Loromos \[1 search/],
  [/^chat --model/, /found: Nightwinter[\s\S]*\[answer: Loromos, 1 search\]/],
  [/^runs list/, /runs\/train +rl +finished/],
  [/^runs compare/, /learningRate/],
  [/^lint/, /PASS/],
  [/^data generate/, /right/],
  [/--out answers\.jsonl/, /"em":/],
];

/** Files that the page takes as given. */
function writeGiven(): void {
  symlinkSync(join(projectRoot, "world"), join(folder, "world"));
  mkdirSync(join(folder, "documents"));
  writeFileSync(
    join(folder, "documents", "paris.txt"),
    "Paris is the capital of France.\n\nIt lies on the Seine.\n",
  );
  const context = [["Paris", ["Paris is the capital of France."]]];
  const row = {
    _id: "1",
    question: "What is the capital of France?",
    answer: "Paris",
    type: "bridge",
    context,
  };
  writeFileSync(join(folder, "hotpot_dev_fullwiki_v1.json"), JSON.stringify([row]));
  for (const [, name = "", yaml = ""] of page.matchAll(/```yaml\n# (\S+)\n([^`]*)```/g)) {
    writeFileSync(join(folder, name), yaml);
  }
}

function keepFirst(file: string, lines: number): void {
  const path = join(folder, "world-files", file);
  writeFileSync(path, `${readFileSync(path, "utf8").split("\n").slice(0, lines).join("\n")}\n`);
}

async function run(call: string): Promise<string> {
  const line = shortened.reduce((text, [pattern, shorter]) => text.replace(pattern, shorter), call);
  const { code, stdout, stderr } = await runCliOn("Who directed Nightwinter?\n", ...wordsOf(line));
  assert.equal(code, 0, `${line}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Works in a folder until the test is over. */
function workIn(t: TestContext, own: string): void {
  process.chdir(own);
  t.after(() => process.chdir(projectRoot));
}

test("every call that docs/cli.md shows ends well and says something sensible, in the page's order", async (t) => {
  workIn(t, folder);
  writeGiven();
  const shown = calls.filter((call) => !elsewhere.test(call));
  assert.ok(shown.length > 25);
  const idle = expected.filter(([which]) => !shown.some((call) => which.test(call)));
  assert.deepEqual(idle, [], "what no call is to say");
  for (const call of shown) {
    const stdout = await run(call);
    if (call.includes("--json")) JSON.parse(stdout);
    for (const [which, says] of expected) if (which.test(call)) assert.match(stdout, says, call);
    if (call.startsWith("world ")) {
      keepFirst("train.jsonl", 16);
      keepFirst("validation.jsonl", 4);
      keepFirst("test.jsonl", 8);
    }
  }
});

test("every call of the models' and the sampling page ends well without a download", async (t) => {
  const own = join(folder, "without-download");
  mkdirSync(own);
  workIn(t, own);
  symlinkSync(join(projectRoot, "world"), "world");
  const shown = ["models.md", "sampling.md"]
    .flatMap((name) => callsOf(readPage(name)))
    .filter((call) => !elsewhere.test(call));
  assert.ok(shown.length >= 11);
  for (const call of shown) {
    const stdout = await run(call);
    if (call.startsWith("ask")) assert.match(stdout, /found: Nightwinter[\s\S]*answer: Loromos/);
  }
});

/** What is asked for less of in the tutorial. */
const tutorial: readonly (readonly [RegExp, string])[] = [
  [/--num-questions 200/, "--num-questions 4"],
  [/^sft (.*) --epochs 2 /, "sft $1 --epochs 1 "],
  [/--steps 16 --batch-questions 48/, "--steps 1 --batch-questions 2"],
];

test("the calls of the tutorial lead from documents to a trained agent and what it has learnt", async (t) => {
  const own = join(folder, "tutorial");
  mkdirSync(own);
  workIn(t, own);
  symlinkSync(join(projectRoot, "world"), "world");
  const shown = callsOf(readPage("tutorials/your-documents.md"));
  assert.equal(shown.length, 12);
  const said: string[] = [];
  for (const call of shown)
    said.push(await run(tutorial.reduce((text, [pattern, shorter]) => text.replace(pattern, shorter), call)));
  assert.match(said[3] ?? "", /EM at most/);
  assert.match(said[5] ?? "", /trajectories in right\.jsonl/);
  assert.match(said[10] ?? "", /^em /m);
  assert.match(said[11] ?? "", /answer:/);
});
