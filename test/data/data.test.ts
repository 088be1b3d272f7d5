/** Questions from JSON files, with errors that name the place. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { readJsonRows } from "../../lib/data/files/jsonl.ts";
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

test("a list is read as one whatever the file is called, and lines are too", async () => {
  for (const text of [' [{"a":1},\n{"a":2}]', '\uFEFF\n{"a":1}\n{"a":2}', '{"a":1}\r\n\r\n{"a":2}']) {
    for (const name of ["x.json", "x.jsonl", "x"]) {
      const rows = await all(readJsonRows(await file(name, text)));
      assert.deepEqual(
        rows.map(({ value, index }) => [value, index]),
        [
          [{ a: 1 }, 0],
          [{ a: 2 }, 1],
        ],
        text,
      );
    }
  }
  assert.deepEqual(await all(readJsonRows(await file("empty.json", ""))), []);
});

test("a missing column is refused with file, line and the columns there are", async () => {
  const path = await file("q.jsonl", '{"question":"a?","answers":["x"]}\n\n{"query":"b?","answers":["x"]}\n');
  await assert.rejects(all(readQuestions(path)), {
    code: "ERR_FORMAT",
    message: `${path}:3: expected column "question", got columns query, answers`,
  });
});

test("answers of the wrong kind are refused with what stands there", async () => {
  const path = await file("q.jsonl", '{"question":"a?","golden_answers":[true]}');
  await assert.rejects(all(readQuestions(path)), {
    code: "ERR_FORMAT",
    message: /"golden_answers".*got \[true\]/,
  });
  const empty = await file("e.jsonl", '{"question":"a?","golden_answers":[]}');
  assert.deepEqual((await all(readQuestions(empty)))[0]?.answers, [], "there is nothing to answer");
});

test("a line that is not JSON, or no object, is refused with its place", async () => {
  const broken = await file("a.jsonl", '{"id":1}\n{"id":');
  await assert.rejects(all(readJsonRows(broken)), {
    code: "ERR_FORMAT",
    message: /a\.jsonl:2: expected JSON, got/,
  });
  const list = await file("b.jsonl", '{"id":1}\n[1]');
  await assert.rejects(all(readJsonRows(list)), { code: "ERR_FORMAT", message: /b\.jsonl:2: .* got a list/ });
  const numbers = await file("c.json", "[1]");
  await assert.rejects(all(readJsonRows(numbers)), {
    code: "ERR_FORMAT",
    message: /c\.json\[0\]: expected a JSON object, got number/,
  });
  await assert.rejects(all(readJsonRows(join(folder, "none"))), {
    code: "ERR_IO",
    message: /none: cannot be read/,
  });
});

test("lines longer than a chunk of the stream stay whole", async () => {
  const question = "word ".repeat(500_000);
  const questions = [
    { id: "a", question, answers: ["x"] },
    { id: "b", question: "short", answers: ["y"] },
  ];
  await writeQuestions(join(folder, "long.jsonl"), questions);
  assert.deepEqual(await all(readQuestions(join(folder, "long.jsonl"))), questions);
});
