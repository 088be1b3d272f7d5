/** Options: flags made from a schema, a config file below them, mistakes named. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Command as Program } from "commander";
import { z } from "zod";
import { parseConfigText } from "../../../lib/data/files/config-text.ts";
import { flagsOf } from "../../../apps/cli/flags.ts";
import { readOptions } from "../../../apps/cli/options.ts";
import { nearestWord } from "../../../lib/base/spelling.ts";

const schema = z.strictObject({
  model: z.string().describe("folder"),
  maxTokens: z.int().min(1).default(16),
  stream: z.boolean().default(true),
  verbose: z.boolean().default(false),
  ids: z.array(z.int()).optional(),
  query: z.array(z.string()).optional(),
  mode: z.enum(["single", "multi"]).default("single"),
});

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

async function configFile(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

function parseFlags(...args: string[]): Record<string, unknown> {
  const program = new Program().exitOverride();
  for (const flag of flagsOf(schema)) program.addOption(flag);
  return program.parse(args, { from: "user" }).opts();
}

test("every key of the schema is a flag of its type", () => {
  const given = [
    "--max-tokens",
    "3",
    "--no-stream",
    "--verbose",
    "--ids",
    "1,2",
    "--ids",
    "3",
    "--mode",
    "multi",
  ];
  assert.deepEqual(parseFlags(...given, "--query", "a, b", "--query", "c"), {
    maxTokens: 3,
    stream: false,
    verbose: true,
    ids: [1, 2, 3],
    mode: "multi",
    query: ["a, b", "c"],
  });
});

test("flags win over the file, the file over the defaults", async () => {
  const path = await configFile("a.yaml", "model: m\nmaxTokens: 5\nmode: multi\n");
  assert.deepEqual(await readOptions(schema, { mode: "single" }, path), {
    model: "m",
    maxTokens: 5,
    mode: "single",
    stream: true,
    verbose: false,
  });
});

test("JSON is read as well as YAML", async () => {
  const path = await configFile("a.json", '{"model": "m"}');
  assert.equal(((await readOptions(schema, {}, path)) as { model: string }).model, "m");
});

test("an unknown key is refused with the nearest spelling", async () => {
  const path = await configFile("b.yaml", "model: m\nmax_token: 5\n");
  await assert.rejects(readOptions(schema, {}, path), /unknown key "max_token"; did you mean "maxTokens"\?/);
  const far = await configFile("c.yaml", "zzzzzzzzzzz: 5\n");
  await assert.rejects(
    readOptions(schema, {}, far),
    /unknown key "zzzzzzzzzzz"; expected one of model, maxTokens/,
  );
});

test("a value of the wrong kind is named with what was expected and what came", async () => {
  await assert.rejects(
    readOptions(schema, { model: "m", maxTokens: "many" }),
    /--max-tokens: expected .*got "many"/,
  );
  await assert.rejects(readOptions(schema, { model: "m", maxTokens: 0 }), /--max-tokens: .*got 0/);
  await assert.rejects(readOptions(schema, {}), /--model: required/);
});

test("a config file that is no file of keys is refused", async () => {
  await assert.rejects(readOptions(schema, {}, await configFile("d.yaml", "- 1\n")), /got a list/);
  await assert.rejects(readOptions(schema, {}, await configFile("e.json", "{")), /e\.json/);
  const broken = readOptions(schema, {}, await configFile("f.yaml", "model: [\n"));
  await assert.rejects(broken, /f\.yaml: Flow sequence .* at line 2, column 1$/);
});

test("a config file that is not there is named, with the one that was meant or what it should be", async () => {
  const folderOfFile = await mkdtemp(join(folder, "near-"));
  const refused = (name: string): Promise<string> =>
    readOptions(schema, {}, join(folderOfFile, name)).then(
      () => "",
      ({ message }: Error) => message,
    );
  assert.match(
    await refused("train.yml"),
    /--config \S+train\.yml: no such file\. Remedy: a YAML or JSON file whose keys are .*; paths begin at \//,
  );
  await writeFile(join(folderOfFile, "train.yaml"), "model: m\n");
  assert.match(await refused("train.yml"), /no such file\. Remedy: did you mean \S+train\.yaml\?$/);
  assert.match(await refused(""), /a folder, expected a file\. Remedy: of a run it is \S+config\.yaml$/);
});

test("the nearest word is the one that needs the fewest edits", () => {
  assert.equal(nearestWord("topk", ["topP", "topK"]), "topK");
  assert.equal(nearestWord("qestion", ["questions", "query"]), "questions");
  assert.equal(nearestWord("x", ["questions"]), undefined);
});

test("a config file that is too deep or too large is refused at once, and never ends the process", async () => {
  const hostile = {
    brackets: "[".repeat(3_000_000),
    "deep brackets": "[".repeat(100_000),
    braces: `a: ${"{a: ".repeat(50_000)}`,
    lists: "- ".repeat(1000),
    keys: "? ".repeat(50_000),
    indents: Array.from({ length: 1000 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"),
  };
  for (const [name, text] of Object.entries(hostile)) {
    const started = process.cpuUsage();
    assert.throws(
      () => parseConfigText(text, "run.yaml"),
      /^Error: expected at most \d+ (levels|characters), got/,
      name,
    );
    assert.ok(process.cpuUsage(started).user < 2e6, `${name} took ${process.cpuUsage(started).user} us`);
  }
  assert.throws(() => parseConfigText("[".repeat(900_000), "run.json"), Error);
  const fine = "recipe: {name: rag-r1, queries: [a, b]}\nlist:\n  - a: 1\n    b: '[[[['\n  - - - 2\n";
  assert.deepEqual(parseConfigText(fine, "run.yaml"), {
    recipe: { name: "rag-r1", queries: ["a", "b"] },
    list: [{ a: 1, b: "[[[[" }, [[2]]],
  });
});
