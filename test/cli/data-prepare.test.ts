/** `seekrl data prepare` from outside. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { prepareQuestions } from "../../lib/data/prepare.ts";
import { startHub } from "../remote/hub-server.ts";
import { runCli } from "./run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);
const lines = (...rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

const row = { id: "train_0", question: "Who?", golden_answers: ["Ada", "A. B."] };
await writeFile(at("nq.jsonl"), lines(row));
await writeFile(at("hotpotqa.jsonl"), lines(row, { ...row, id: "train_1", golden_answers: [] }));
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
  const faithful = ["--recipe", "search-r1", "--faithful", "--skip-invalid"];
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
  assert.match(missing.stderr, /no\.jsonl: cannot be read/);
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
