/** `--tools FILE`: what a file may say, and commands that open its tools. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openTools, readToolsFile } from "../../../apps/cli/options/tool-options.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { projectRoot } from "../../project.ts";
import { runCli } from "../run-cli.ts";
import { writeTinyModel } from "../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);

const passages = [
  { id: "1", title: "Paris", text: "Paris is the capital of France." },
  { id: "2", title: "Rome", text: "Rome is the capital of Italy." },
];
await buildIndex({ corpus: passages, out: at("index") });
await writeFile(at("facts.tsv"), "Paris\tcapital of\tFrance\n");
const server = {
  command: process.execPath,
  args: [join(projectRoot, "dist", "test", "connectors", "tools", "mcp-server.js")],
  env: { WORD: `\${SEEKRL_TEST_WORD}` },
  only: ["add", "pid"],
  prefix: "mcp_",
};
const config = {
  timeoutMs: 5000,
  tools: [
    { use: "search", topK: 1 },
    { use: "document", name: "read" },
    { use: "graph", file: at("facts.tsv"), maxHops: 2 },
    { use: "calculator" },
    { use: "page" },
  ],
  mcpServers: { test: server },
};
process.env.SEEKRL_TEST_WORD = "open sesame";
await writeFile(at("tools.json"), JSON.stringify(config));

async function open(value: object | string, index: string | null = at("index")) {
  const file = at("case.yaml");
  await writeFile(file, typeof value === "string" ? value : JSON.stringify(value));
  const search = await openIndex(at("index"));
  after(() => search.close());
  return openTools(file, { openSearch: async () => search, index: index ?? undefined, env: process.env });
}

test("a file names built-in tools and servers, and secrets come from the environment", async () => {
  await using tools = await open(config);
  assert.deepEqual(
    tools.box.tools.map(({ name }) => name),
    ["search", "read", "knowledge_graph", "calculator", "read_page", "mcp_add", "mcp_pid"],
  );
  const results = await tools.box.run([
    { name: "search", input: { query: "Italy" }, text: "" },
    { name: "read", input: { document: "paris" }, text: "" },
    { name: "knowledge_graph", input: "Paris -> France", text: "" },
    { name: "mcp_add", input: { a: 1, b: 2 }, text: "" },
    { name: "mcp_pid", input: { variable: "WORD" }, text: "" },
  ]);
  assert.deepEqual(
    results.map(({ text }) => text),
    [
      "Doc 1: Rome\nRome is the capital of Italy.",
      "Paris, part 1 of 1:\nParis is the capital of France.",
      "Paris --capital of--> France",
      "3",
      "open sesame",
    ],
  );
});

test("relative paths are those of the file's folder, and its servers run there", async () => {
  const { command } = server;
  const tools = await open({
    tools: [
      { use: "graph", file: "facts.tsv" },
      { use: "document", corpus: "index" },
    ],
    mcpServers: {
      here: { command, args: ["-e", "process.stderr.write(process.cwd()); process.exit(1)"] },
    },
  }).catch((error: Error) => error);
  assert.ok(tools instanceof Error && tools.message.includes(await realpath(folder)), String(tools));
  await using opened = await open(
    {
      tools: [
        { use: "graph", file: "facts.tsv" },
        { use: "document", corpus: "index" },
      ],
    },
    null,
  );
  const [page] = await opened.box.run([{ name: "document", input: "Rome", text: "" }]);
  assert.equal(page?.text, "Rome, part 1 of 1:\nRome is the capital of Italy.");
});

test("a file in YAML may be as short as one line", async () => {
  await using tools = await open("tools: [{ use: calculator }]", null);
  assert.equal(tools.box.tools.length, 1);
});

test("what is wrong with a file is said by name", async () => {
  const cases: readonly (readonly [object | string, string, RegExp])[] = [
    ["tools: [", "ERR_FORMAT", /case\.yaml: .* at line 1, column 9$/],
    ["", "ERR_FORMAT", /expected object/],
    [{}, "ERR_FORMAT", /expected some of tools or mcpServers, got neither/],
    [{ tools: [{ use: "oracle" }] }, "ERR_FORMAT", /tools\.0\.use: /],
    [{ tools: [{ use: "search", topk: 3 }] }, "ERR_FORMAT", /tools\.0: .*"topk"/],
    [{ tools: [{ use: "graph" }] }, "ERR_FORMAT", /tools\.0\.file: .*string/],
    [{ tools: [{ use: "graph", file: at("none.tsv") }] }, "ERR_IO", /none\.tsv/],
    [{ tools: [{ use: "calculator" }, { use: "calculator" }] }, "ERR_ARGUMENT", /calculator twice/],
    [{ mcpServers: { far: { url: "nonsense" } } }, "ERR_FORMAT", /mcpServers\.far/],
    [{ mcpServers: { none: { command: "no-such-program" } } }, "ERR_REMOTE", /no-such-program/],
    [
      { mcpServers: { test: { ...server, env: { WORD: `\${SEEKRL_TEST_NONE}` } } } },
      "ERR_ARGUMENT",
      /mcpServers\.test\.WORD: expected the environment variable SEEKRL_TEST_NONE/,
    ],
  ];
  for (const [value, code, message] of cases) await assert.rejects(open(value), { code, message });
  await assert.rejects(open({ tools: [{ use: "document" }] }, null), {
    code: "ERR_ARGUMENT",
  });
  const parts = { openSearch: async () => async () => [], env: {} };
  await assert.rejects(openTools(at("none.yaml"), parts), { code: "ERR_IO" });
});

test("the file that docs/tools.md shows is one", async () => {
  const page = await readFile(join(projectRoot, "docs", "tools.md"), "utf8");
  const [, yaml = ""] = /```yaml\n([\s\S]*?)\n```/.exec(page) ?? [];
  await writeFile(at("shown.yaml"), yaml);
  const { tools, mcpServers } = await readToolsFile(at("shown.yaml"));
  assert.deepEqual([tools.length, Object.keys(mcpServers)], [5, ["files", "far"]]);
});

test("commands open tools for the recipe that has them, and close them at the end", async () => {
  await writeTinyModel(at("model"), { maxPosition: 8192 });
  await writeFile(at("questions.jsonl"), `${JSON.stringify({ question: "6 * 7?", answers: ["42"] })}\n`);
  const common = [
    "eval",
    "--model",
    at("model"),
    "--questions",
    at("questions.jsonl"),
    "--tools",
    at("tools.json"),
  ];
  const limits = ["--limits", "maxTurns=2,maxResponseTokens=8", "--json"];
  const ran = await runCli(...common, "--recipe", "research", "--index", at("index"), ...limits);
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(JSON.parse(ran.stdout).questions, 1);
  const agentic = await runCli(...common, "--recipe", "agentic-rag-r1", "--index", at("index"), ...limits);
  assert.equal(agentic.code, 0, agentic.stderr);
  const missing = await runCli(...common, "--recipe", "research", ...limits);
  assert.match(missing.stderr, /expected one of --index, --retriever, --shards, --web/);
  const other = await runCli(...common, "--recipe", "search-r1", "--index", at("index"), ...limits);
  assert.deepEqual([other.code, /--tools: the recipe search-r1 has no tools/.test(other.stderr)], [2, true]);
  const baseline = await runCli(...common, "--recipe", "research", "--baseline", "direct", ...limits);
  assert.match(baseline.stderr, /--tools: expected without --baseline/);
});
