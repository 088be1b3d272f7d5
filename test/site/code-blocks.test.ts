/** No code block of a page is untested: each is run, type-checked, parsed as a call, or said to be none. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../project.ts";
import { type CodeBlock, codeBlocks, shellCalls } from "./code-blocks.ts";
import { parseCall } from "./parsed-call.ts";

const folder = mkdtempSync(join(tmpdir(), "seekrl-"));
after(() => rmSync(folder, { recursive: true }));

const blocks = codeBlocks();
const { scripts } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8"));
const starter = JSON.parse(readFileSync(join(projectRoot, "starter", "package.json"), "utf8")).scripts;

/** Blocks that a test reads out of the page, by page and language; each test is named. */
const runElsewhere: Readonly<Record<string, string>> = {
  "docs/many-machines.md bash": "comm/many-machines.ts",
  "docs/many-machines.md yaml": "comm/many-machines.ts",
  "docs/serving.md jsonl": "serve/docs.test.ts",
  "docs/tools.md yaml": "cli/options/tools.test.ts",
  "docs/remote.md sql": "connectors/stores/pgvector.full.test.ts",
  "docs/mcp.md json": "site/code-blocks.test.ts",
};

/** What other tools are called with: the programs of schedulers and containers, which these tests have not. */
const otherPrograms = ["docker", "git", "kubectl", "mkdir", "sbatch", "python", "sky", "sudo", "for", "vllm"];

/** Programs by which a block without a language is known to be for a shell. */
const shellPrograms = ["npx", "seekrl", "npm", "curl", ...otherPrograms];

/** Words of models and trees of files: there is nothing to run. By page, how the block begins. */
const transcripts: readonly (readonly [string, string])[] = [
  ["docs/agent-as-a-model.md", "What was said before:"],
  ["docs/lint.md", "A conversation that"],
  ["docs/retrieval.md", "index/"],
  ["docs/systems/agentic-rag-r1.md", "<plan>"],
  ["docs/systems/r1-searcher.md", "<think>"],
  ["docs/systems/rag-r1.md", "<think>"],
  ["docs/systems/research.md", "<think>"],
  ["docs/systems/search-r1.md", "<think>"],
  ["docs/tools.md", "<think>"],
  ["docs/tools.md", "<search>"],
  ["docs/training.md", "runs/train/"],
];

type Kind = "run as TypeScript" | "read by its test" | "shell" | "JSON" | "transcript" | "configuration";

function kindOf({ file, language, text }: CodeBlock): Kind | undefined {
  if (language === "ts") return "run as TypeScript";
  if (runElsewhere[`${file} ${language}`] !== undefined) return "read by its test";
  if (language === "yaml") return /^# [\w-]+\.yaml\n/.test(text) ? "configuration" : undefined;
  if (["sh", "bash"].includes(language)) return "shell";
  if (language === "json" || text.startsWith("{")) return "JSON";
  if (language !== "") return undefined;
  if (transcripts.some(([page, begin]) => page === file && text.startsWith(begin))) return "transcript";
  const [first] = shellCalls({ text });
  return shellPrograms.includes(first?.words[0] ?? "") ? "shell" : undefined;
}

test("every code block is of a kind that something checks", () => {
  const unknown = blocks.filter((block) => kindOf(block) === undefined);
  assert.deepEqual(
    unknown.map(({ file, text }) => `${file}: ${text.split("\n")[0]}`),
    [],
  );
  for (const [page, begin] of transcripts)
    assert.ok(
      blocks.some(({ file, text }) => file === page && text.startsWith(begin)),
      `${page}: ${begin}`,
    );
  assert.ok(blocks.length > 190);
});

/** What cannot be broken: an option on a line of its own. */
const lone = /^ {2}--\S+ (?:\$?'[^']*'|\S+)(?: \\)?$/;

test("no line of a program or a call is wider than the text of the site", () => {
  const shown = blocks.filter((block) => ["run as TypeScript", "shell"].includes(kindOf(block) ?? ""));
  const lines = shown.flatMap(({ file, text }) => text.split("\n").map((line) => ({ file, line })));
  // What a server answers stands below a call of curl.
  const wide = lines.filter(({ line }) => line.length > 100 && !lone.test(line) && !/^[[{]/.test(line));
  assert.deepEqual(wide, []);
});

test("the tests that read a page's blocks are there, and name the page", () => {
  for (const [place, name] of Object.entries(runElsewhere)) {
    const [file = ""] = place.split(" ");
    const text = readFileSync(join(projectRoot, "test", name), "utf8");
    assert.ok(text.includes(basename(file)), `test/${name} reads ${file}`);
  }
});

test("every call of seekrl that a page shows is one that its command takes, values included", async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const block of blocks.filter((each) => kindOf(each) === "shell" || each.language === "bash")) {
    const shown = (name: string): string => configuration(block.file, name);
    for (const { words, line } of shellCalls(block)) {
      const start = words[0] === "npx" && words[1] === "seekrl" ? 2 : words[0] === "seekrl" ? 1 : undefined;
      if (start === undefined) continue;
      count += 1;
      await parseCall(words.slice(start), shown).catch((error: Error) => {
        wrong.push(`${block.file}: ${line}: ${error.message}`);
      });
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(count > 150);
});

/** A file that the page shows, or the starter's own. */
function configuration(file: string, name: string): string {
  if (file === "starter/README.md") return join(projectRoot, "starter", name);
  const block = blocks.find((each) => each.file === file && each.text.startsWith(`# ${name}\n`));
  assert.ok(block, `${file} shows ${name}`);
  const path = join(folder, name);
  writeFileSync(path, block.text);
  return path;
}

test("every script of npm that a page names is there, and every other program is one that is known", () => {
  for (const block of blocks.filter((each) => kindOf(each) === "shell")) {
    const own = block.file.startsWith("starter/") ? starter : scripts;
    for (const { words, line } of shellCalls(block)) {
      const [program = "", verb = "", name = ""] = words;
      if (program === "npm") {
        const isScript =
          verb === "run" ? name in own : ["start", "test"].includes(verb) ? verb in own : false;
        assert.ok(isScript || ["ci", "install", "version"].includes(verb), `${block.file}: ${line}`);
      } else if (!/^[[{]/.test(line)) {
        // What a server answers stands below a call of curl.
        const ownFile = join(projectRoot, program === "node" ? verb : program);
        assert.ok(shellPrograms.includes(program) || existsSync(ownFile), `${block.file}: ${line}`);
      }
    }
  }
});

test("what is shown as JSON is JSON, and the call in a client's settings is one of seekrl", async () => {
  const shown = blocks.filter(({ language, text }) => language === "json" || text.startsWith('{"'));
  for (const { text, language } of shown)
    for (const each of language === "json" ? [text] : text.trim().split("\n")) JSON.parse(each);
  const settings = JSON.parse(shown.find(({ file }) => file === "docs/mcp.md")?.text ?? "");
  const { command, args } = settings.mcpServers.library;
  assert.equal(command, "node");
  await parseCall(args.slice(1), () => "");
});
