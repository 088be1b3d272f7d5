/** The documentation is true and whole: commands, flags, configuration files, links, public methods, laws. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import ts from "typescript";
import { commands } from "../apps/cli/commands.ts";
import { flagsOf } from "../apps/cli/flags.ts";
import { readOptions } from "../apps/cli/options.ts";
import { projectRoot } from "./project.ts";
import { withCallsJoined } from "./site/code-blocks.ts";

const docs = readdirSync(join(projectRoot, "docs"), { recursive: true, encoding: "utf8" }).map((file) =>
  join("docs", file),
);
const pages = ["README.md", "ARCHITECTURE.md", ...docs]
  .filter((file) => file.endsWith(".md"))
  .map((file) => ({ file, text: readFileSync(join(projectRoot, file), "utf8") }));

const calls = pages.flatMap(({ file, text }) =>
  [...withCallsJoined(text).matchAll(/^npx seekrl (.*)$/gm)].flatMap(([call, line = ""]) =>
    callsOf(line, call, { file, text }),
  ),
);

/** The call of a line, and the one that follows its `--`. */
function callsOf(line: string, call: string, { file, text }: (typeof pages)[number]) {
  return line.split(" -- ").map((rest) => {
    const command = commands.findLast(({ name }) => `${rest} `.startsWith(`${name} `));
    return { call, command, rest, page: text, file };
  });
}

test("every command has an example, and every example's flags exist", () => {
  for (const { call, command, rest, file } of calls) {
    assert.ok(command, `${file}: ${call}`);
    const known = [...flagsOf(command.options).map(({ long }) => long), "--config", "--json"];
    for (const [flag] of rest.matchAll(/--[a-z][a-z\d-]*/g))
      assert.ok(known.includes(flag), `${file}: ${flag}`);
  }
  const shown = new Set(calls.map(({ command }) => command?.name));
  assert.deepEqual(
    commands.map(({ name }) => name).filter((name) => !shown.has(name)),
    [],
  );
});

test("every npx of a package that is not installed asks nothing, so that it runs without a terminal", () => {
  for (const { file, text } of pages) assert.doesNotMatch(text, /npx tsx/, file);
});

test("every published recipe has a page with the command that trains it on the world, and its cost", () => {
  const recipes = pages.find(({ file }) => file.endsWith("recipes.md"))?.text ?? "";
  const linked = [...recipes.matchAll(/^\| \[`([\w-]+)`\]\((systems\/[\w-]+\.md)\)/gm)];
  assert.ok(linked.length >= 4);
  for (const [, name, target = ""] of linked) {
    const page = pages.find(({ file }) => file.endsWith(target))?.text ?? "";
    for (const call of ["npx seekrl demo", "npx seekrl train"]) {
      assert.match(page, new RegExp(`^${call} --recipe ${name}\\b`, "m"), `${target}: ${call}`);
    }
    for (const head of ["## Train it", "## What differs from the original", "## Cost and memory"]) {
      assert.ok(page.includes(`\n${head}\n`), `${target}: ${head}`);
    }
  }
});

test("every configuration file that is shown is one its command accepts", async () => {
  const folder = mkdtempSync(join(tmpdir(), "seekrl-"));
  let count = 0;
  for (const { command, rest, page } of calls) {
    const [, name] = /--config (\S+)/.exec(rest) ?? [];
    if (name === undefined || command === undefined) continue;
    const [, yaml] = new RegExp(`\`\`\`yaml\\n# ${name}\\n([^\`]*)\`\`\``).exec(page) ?? [];
    assert.ok(yaml, `${name} is shown`);
    const path = join(folder, "shown.yaml");
    writeFileSync(path, yaml);
    await readOptions(command.options, {}, path);
    count += 1;
  }
  rmSync(folder, { recursive: true });
  assert.ok(count >= 2);
});

test("every link to a file of the project leads somewhere", () => {
  const links = pages.flatMap(({ file, text }) =>
    [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = ""]) => ({ file, target })),
  );
  assert.ok(links.length > pages.length);
  for (const { file, target } of links)
    assert.ok(existsSync(join(projectRoot, dirname(file), target)), `${file}: ${target}`);
});

/** Classes a program gets from the package, and those it gets from these. */
const publicClasses = {
  "lib/search/embed/encoder.ts": "Encoder",
  "lib/search/embed/reranker.ts": "Reranker",
  "lib/engine/engine.ts": "Engine",
  "lib/engine/sequence.ts": "Sequence",
  "lib/model/model.ts": "Model",
  "lib/text/templates/chat-template.ts": "ChatTemplate",
  "lib/text/tokenizers/detokenizer.ts": "Detokenizer",
  "lib/text/tokenizers/tokenizer.ts": "Tokenizer",
  "lib/rollout/tools/built-in/library.ts": "Library",
  "connectors/tools/mcp/server.ts": "McpServer",
  "lib/rollout/tools/built-in/triples.ts": "TripleStore",
  "lib/train/learner/critic.ts": "Critic",
  "lib/train/learner/learner.ts": "Learner",
  "lib/train/learner/trainer.ts": "Trainer",
};

function methodsOf(file: string, name: string): (ts.MethodDeclaration | ts.GetAccessorDeclaration)[] {
  const text = readFileSync(join(projectRoot, file), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
  const found = source.statements.find((each) => ts.isClassDeclaration(each) && each.name?.text === name);
  assert.ok(found && ts.isClassDeclaration(found), `${file} declares ${name}`);
  return found.members
    .filter((member) => ts.isMethodDeclaration(member) || ts.isGetAccessor(member))
    .filter((member) => !ts.isPrivateIdentifier(member.name));
}

test("every public method is documented: parameters, result", () => {
  const wrong: string[] = [];
  for (const [file, name] of Object.entries(publicClasses)) {
    for (const method of methodsOf(file, name)) {
      const doc = ts.getJSDocCommentsAndTags(method).map((part) => part.getText());
      const where = `${name}.${method.name.getText()}`;
      if (doc.length === 0) wrong.push(`${where}: a sentence`);
      if (ts.isGetAccessor(method) || where === "Sequence.receive") continue;
      const isVoid = /^(void|Promise<void>)$/.test(method.type?.getText() ?? "void");
      if (!isVoid && !doc.join("").includes("@returns")) wrong.push(`${where}: @returns`);
      if (method.parameters.length > 0 && !doc.join("").includes("@param")) wrong.push(`${where}: @param`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("every law that stands in ARCHITECTURE.md is held by the tests it names", () => {
  const [, section = ""] = /## Laws\n([\s\S]*?)\n## /.exec(pages[1]?.text ?? "") ?? [];
  const rows = [...section.matchAll(/^\| (\d) \|[^|]*\|(.*)\|$/gm)];
  assert.deepEqual(
    rows.map(([, number]) => Number(number)),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  for (const [, number, cell = ""] of rows) {
    const sets = setsOf(cell, `law ${number}`);
    assert.ok(sets.includes("default"), `law ${number} names a test of the default set`);
  }
});

/** In which sets the tests are that a table's cell names; each has to be in a file of one. */
function setsOf(cell: string, where: string): ("default" | "full")[] {
  const named = [...cell.matchAll(/`([\w-]+(?:\/[\w-]+)+)` ([^;|]+?)(?:;|\||\s*$)/g)];
  return named.map(([, file = "", sentence = ""]) => {
    const holds = (path: string): boolean =>
      existsSync(path) && readFileSync(path, "utf8").includes(`test("${sentence.trim()}`);
    const path = join(projectRoot, "test", file);
    if (holds(`${path}.test.ts`)) return "default";
    assert.ok(holds(`${path}.full.test.ts`), `${where}: ${file}: ${sentence}`);
    return "full";
  });
}

test("users' pages do not lead into what is for contributors", () => {
  for (const { file, text } of pages) {
    const isUsers = file === "README.md" || (file.startsWith("docs") && !file.includes("internals"));
    assert.ok(!isUsers || !text.includes("parity.md"), file);
  }
});

test("what docs/internals/parity.md says works is shown by tests that exist", () => {
  const text = pages.find(({ file }) => file.endsWith("parity.md"))?.text ?? "";
  const rows = [...text.matchAll(/^\| (\d+) \|([^|]*)\| (\w+) \|(.*)\|$/gm)];
  const numbers = rows.map(([, number]) => Number(number));
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
  assert.deepEqual(numbers, [...upTo(53), ...upTo(36), ...upTo(33), ...upTo(16)]);
  for (const [row, , feature = "", state = "", cell = ""] of rows) {
    assert.ok(["works", "better", "part", "out"].includes(state), row);
    const { length: count } = setsOf(cell, feature);
    if (["works", "better", "part"].includes(state)) assert.ok(count > 0, `${feature} names a test`);
    if (state === "part") assert.ok(cell.includes("not there: "), `${feature} says what does not work`);
    if (state === "out") assert.ok(cell.trim() !== "", `${feature} says why`);
  }
  for (const line of text.split("\n").filter((each) => /^\| [ADQ]\d/.test(each))) setsOf(line, line);
});
