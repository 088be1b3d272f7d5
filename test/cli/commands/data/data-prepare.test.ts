/** `seekrl data prepare` from outside. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readParquetGroups } from "../../../../lib/data/files/parquet.ts";
import { prepareQuestions } from "../../../../lib/data/prepare.ts";
import { startHub } from "../../../connectors/remote/hub-server.ts";
import { projectRoot } from "../../../project.ts";
import { runCli } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);
const lines = (...rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

const row = { id: "train_0", question: "Who?", golden_answers: ["Ada", "A. B."] };
await writeFile(at("nq.jsonl"), lines(row));
await writeFile(at("hotpotqa.jsonl"), lines(row, { ...row, id: "train_1", golden_answers: [" "] }));
const both = ["--input", `nq=${at("nq.jsonl")}`, "--input", `hotpotqa=${at("hotpotqa.jsonl")}`];

const prepare = (...args: string[]) => runCli("data", "prepare", ...both, "--format", "flashrag", ...args);

test("sets are merged into JSON Lines, and rows that were left out are counted and named", async () => {
  const out = at("train.jsonl");
  const { code, stdout, stderr } = await prepare(
    "--out",
    out,
    "--split",
    "train",
    "--skip-invalid",
    "--json",
  );
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { out, questions: 2, leftOut: { invalid: 1 } });
  assert.match(stderr, /left out: .*hotpotqa\.jsonl:2: expected at least one answer/);
  const expected = ["nq", "hotpotqa"].map((source) => ({
    id: `${source}/train_0`,
    question: "Who?",
    answers: ["Ada", "A. B."],
    split: "train",
    source,
  }));
  assert.equal(await readFile(out, "utf8"), lines(...expected));
});

test("parquet for verl has the recipe's prompts", async () => {
  const out = at("train.parquet");
  const faithful = ["--recipe", "search-r1,faithful", "--skip-invalid"];
  const { code, stderr } = await prepare("--out", out, ...faithful);
  assert.equal(code, 0, stderr);
  const { questions } = await prepareQuestions([{ path: out }], { format: "verl" });
  assert.deepEqual(
    questions.map(({ id, source }) => [id, source]),
    [
      ["nq/train_0", "nq"],
      ["hotpotqa/train_0", "hotpotqa"],
    ],
  );
});

test("a row without answers, an unknown format, a file that is not there: each is said, and nothing is written", async () => {
  const out = at("none.jsonl");
  const empty = await prepare("--out", out);
  assert.equal(empty.code, 1);
  assert.match(empty.stderr, /hotpotqa\.jsonl:2: expected at least one answer/);
  const unknown = await runCli("data", "prepare", "--input", "x", "--out", out, "--format", "squad");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /--format: .*hotpotqa/);
  const missing = await runCli("data", "prepare", "--input", at("no.jsonl"), "--out", out, "--format", "nq");
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /--input: .*no\.jsonl: no such file or folder/);
  await assert.rejects(readFile(out), { code: "ENOENT" });
});

test("a set is fetched from an address, and the second time from the cache", async () => {
  await using hub = await startHub(Buffer.from(lines(row)));
  const url = `${hub.storeUrl}/nq/test.jsonl`;
  const args = [
    "--input",
    `nq=${url}`,
    "--format",
    "flashrag",
    "--out",
    at("nq-out.jsonl"),
    "--cache",
    at("cache"),
  ];
  const first = await runCli("data", "prepare", ...args);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stderr, /fetched: .*test\.jsonl \(checked by size only; #sha256=[0-9a-f]{64} pins it\)/);
  const second = await runCli("data", "prepare", ...args);
  assert.match(second.stderr, /from the cache: .*test\.jsonl/);
  assert.equal(hub.asked.length, 1);
  const [only] = (await prepareQuestions([{ path: at("nq-out.jsonl") }], { format: "seekrl" })).questions;
  assert.deepEqual(only, { id: "train_0", question: "Who?", answers: ["Ada", "A. B."], source: "nq" });
});

test("a corpus is fetched from an address, and cut or indexed", async () => {
  const passages = lines({ id: "1", title: "Paris", text: "Paris is the capital of France." });
  await using hub = await startHub(Buffer.from(passages));
  const url = `${hub.storeUrl}/wiki/corpus.jsonl`;
  process.env.XDG_CACHE_HOME = at("user-cache");
  const built = await runCli("index", "build", "--corpus", url, "--out", at("index"), "--json");
  assert.equal(built.code, 0, built.stderr);
  assert.match(built.stderr, /fetched: .*corpus\.jsonl/);
  assert.equal(JSON.parse(built.stdout).passages, 1);
  const cut = await runCli("corpus", "split", "--input", url, "--out", at("cut.jsonl"), "--size", "3");
  delete process.env.XDG_CACHE_HOME;
  assert.equal(cut.code, 0, cut.stderr);
  assert.match(cut.stderr, /from the cache: /);
  assert.equal((await readFile(at("cut.jsonl"), "utf8")).trim().split("\n").length, 2);
  assert.equal(hub.asked.length, 1);
});

test("the texts that stand with questions become a corpus, or stay with them, or stand in the prompt", async () => {
  const hotpot = {
    _id: "a",
    question: "Who?",
    answer: "Ada",
    context: [
      ["Ada", ["She was."]],
      ["Bob", ["He."]],
    ],
  };
  await writeFile(at("hotpot.json"), JSON.stringify([hotpot, { ...hotpot, _id: "b" }]));
  const given = ["data", "prepare", "--format", "hotpotqa", "--input", `hotpotqa=${at("hotpot.json")}`];
  const [plain, kept, corpus] = [at("plain.jsonl"), at("kept.jsonl"), at("contexts.jsonl")] as const;
  const made = await runCli(...given, "--out", plain, "--contexts", corpus, "--json");
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual(JSON.parse(made.stdout), {
    ...{ out: plain, questions: 2, leftOut: {} },
    ...{ contexts: corpus, passages: 2 },
  });
  assert.ok(!(await readFile(plain, "utf8")).includes("She was"));
  const passages = (await readFile(corpus, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    passages.map(({ title, text }) => [title, text]),
    [
      ["Ada", "She was."],
      ["Bob", "He."],
    ],
  );
  const built = await runCli("index", "build", "--corpus", corpus, "--out", at("index"), "--json");
  assert.equal(JSON.parse(built.stdout).passages, 2);
  assert.equal((await runCli(...given, "--out", kept, "--keep-contexts")).code, 0);
  assert.match(await readFile(kept, "utf8"), /"documents":\[\{"title":"Ada","text":"She was\."\}/);

  const promptsOf = async (asks: string): Promise<string> => {
    const out = at(`${asks}.parquet`);
    const { code, stderr } = await runCli(...given, "--out", out, "--asks", asks);
    assert.equal(code, 0, stderr);
    for await (const rows of readParquetGroups(out, () => ["prompt"])) {
      const prompts = rows.map(({ value }) => value.prompt as { content: string }[]);
      return prompts[0]?.[0]?.content ?? "";
    }
    return "";
  };
  const memory = await promptsOf("memory");
  assert.ok(memory.endsWith("Question: Who?\n") && !memory.includes("search"));
  const documents = await promptsOf("documents");
  assert.ok(
    documents.endsWith("Question: Who?\nContext:\nDoc 1(Title: Ada) She was.\nDoc 2(Title: Bob) He.\n"),
  );
  for (const wrong of [
    ["--out", plain],
    ["--out", at("x.parquet"), "--recipe", "rag-r1,faithful"],
  ]) {
    assert.equal((await runCli(...given, "--asks", "memory", ...wrong)).code, 2);
  }
});

test("a set is read from inside of a zip archive, of this machine or of the hub", async () => {
  const archive = join(projectRoot, "test", "golden", "data", "questions.zip");
  const out = at("zipped.jsonl");
  const cache = ["--cache", at("zip-cache")];
  const given = ["data", "prepare", "--format", "nq", "--out", out, ...cache, "--json"];
  const inside = await runCli(...given, "--input", `nq=${archive}/sets/dev.jsonl`);
  assert.equal(inside.code, 0, inside.stderr);
  assert.equal(JSON.parse(inside.stdout).questions, 200);
  const both = await runCli(...given, "--input", archive);
  assert.equal(both.code, 1);
  assert.match(
    both.stderr,
    /ERR_ARGUMENT: expected .*questions\.zip\/NAME for one of sets\/dev\.jsonl, sets\/test\.jsonl/,
  );
});
