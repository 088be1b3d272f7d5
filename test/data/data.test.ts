/** Questions and passages from JSON files, with errors that name the place. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { type Passage, readPassages, writePassages } from "../../lib/corpus/passage.ts";
import { readJsonRows } from "../../lib/data/jsonl.ts";
import { type Question, readQuestions, writeQuestions } from "../../lib/data/question.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function file(name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

test("questions come back as they were written", async () => {
  const questions: Question[] = [
    { id: "1", question: "Who?", answers: ["Ada", "A. Brand"], kind: "bridge", split: "test" },
    { id: "2", question: "line\u2028separator\n", answers: ["é"] },
  ];
  await writeQuestions(join(folder, "q.jsonl"), questions);
  assert.deepEqual(await all(readQuestions(join(folder, "q.jsonl"))), questions);
});

test("RAG-R1's shape is read from an array, its answer a string or a list", async () => {
  const rows = [
    { question: "a?", golden_answers: "x" },
    { question: "b?", golden_answers: ["y", "z"] },
  ];
  const path = await file("train.json", JSON.stringify(rows));
  assert.deepEqual(await all(readQuestions(path)), [
    { id: "q0", question: "a?", answers: ["x"] },
    { id: "q1", question: "b?", answers: ["y", "z"] },
  ]);
});

test("a missing column is refused with file, line and the columns there are", async () => {
  const path = await file("q.jsonl", '{"question":"a?","answers":["x"]}\n\n{"query":"b?","answers":["x"]}\n');
  await assert.rejects(all(readQuestions(path)), {
    code: "ERR_FORMAT",
    message: `${path}:3: expected column "question", got columns query, answers`,
  });
});

test("answers of the wrong kind are refused with what stands there", async () => {
  const path = await file("q.jsonl", '{"question":"a?","golden_answers":[1]}');
  await assert.rejects(all(readQuestions(path)), {
    code: "ERR_FORMAT",
    message: /"golden_answers".*got \[1\]/,
  });
  const empty = await file("e.jsonl", '{"question":"a?","golden_answers":[]}');
  await assert.rejects(all(readQuestions(empty)), { code: "ERR_FORMAT", message: /at least one/ });
});

test("a line that is not JSON, or no object, is refused with its place", async () => {
  const broken = await file("a.jsonl", '{"id":1}\n{"id":');
  await assert.rejects(all(readJsonRows(broken)), {
    code: "ERR_FORMAT",
    message: /a\.jsonl:2: expected JSON, got/,
  });
  const list = await file("b.jsonl", "[1]");
  await assert.rejects(all(readJsonRows(list)), { code: "ERR_FORMAT", message: /b\.jsonl:1: .* got a list/ });
  const object = await file("c.json", "{}");
  await assert.rejects(all(readJsonRows(object)), {
    code: "ERR_FORMAT",
    message: /c\.json: expected a list/,
  });
  await assert.rejects(all(readJsonRows(join(folder, "none"))), {
    code: "ERR_IO",
    message: /none: cannot be read/,
  });
});

test("passages have a title and a text, or both in one column", async () => {
  const path = await file(
    "p.jsonl",
    '\ufeff{"id":7,"title":"T","text":"a b"}\r\n{"contents":"\\"Ada\\"\\nwrote"}\r\n{"id":"x","contents":"no title"}',
  );
  const passages: Passage[] = [
    { id: "7", title: "T", text: "a b" },
    { id: "1", title: "Ada", text: "wrote" },
    { id: "x", title: "", text: "no title" },
  ];
  assert.deepEqual(await all(readPassages(path)), passages);
  await writePassages(join(folder, "out.jsonl"), passages);
  assert.deepEqual(await all(readPassages(join(folder, "out.jsonl"))), passages);
  assert.equal((await readFile(join(folder, "out.jsonl"), "utf8")).split("\n").length, 4);
});

test("lines longer than a chunk of the stream stay whole", async () => {
  const text = "word ".repeat(100_000);
  await writePassages(join(folder, "long.jsonl"), [
    { id: "a", title: "", text },
    { id: "b", title: "", text: "short" },
  ]);
  const lengths = (await all(readPassages(join(folder, "long.jsonl")))).map((passage) => passage.text.length);
  assert.deepEqual(lengths, [500_000, 5]);
});
