/** Numbers of files and answers stay what they are: ids beyond 2^53, and answers that are numbers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { parquetWriteBuffer } from "hyparquet-writer";
import { remoteSearch } from "../../connectors/remote/remote-search.ts";
import { parseExactJson } from "../../lib/base/files/exact-json.ts";
import { readQuestions } from "../../lib/data/question.ts";
import { scoreAnswers } from "../../lib/evaluate/score-answers.ts";
import { readDocuments } from "../../lib/search/corpus/read-documents.ts";
import { file, questionsOf } from "./written-files.ts";

const ids = ["9007199254740993", "18446744073709551615", "-9007199254740995"];
const idsOf = async (rows: AsyncIterable<{ readonly id: string }>): Promise<string[]> => {
  const found: string[] = [];
  for await (const { id } of rows) found.push(id);
  return found;
};
const parquet = (columns: object): Uint8Array =>
  new Uint8Array(parquetWriteBuffer({ columnData: columns as never }));

test("whole numbers are read as they are written, at any place in JSON", () => {
  const read = (text: string): unknown => parseExactJson(text);
  for (const id of ids) {
    assert.equal(read(id), id);
    assert.deepEqual(read(`{"a": [1, ${id}], "b":{"c":${id}}}`), { a: [1, id], b: { c: id } });
  }
  // Those that a double holds, texts, and numbers with a point or an exponent are JSON.parse's.
  for (const text of [
    ...["9007199254740991", "-9007199254740991", "0.12345678901234567890", "9007199254740993.5", "1e300"],
    ...[
      '"9007199254740993"',
      '"a \\" 9007199254740993, \\\\"',
      '{"9007199254740993":[0.1234567890123456789]}',
    ],
    ...["9007199254740993E2", "[]", `"${"x".repeat(1 << 20)} 9007199254740993"`],
  ])
    assert.deepEqual(read(text), JSON.parse(text), text.slice(0, 40));
  assert.throws(() => read("[9007199254740993"), SyntaxError);
});

test("ids beyond 2^53 keep their digits in JSON Lines, in a list and in parquet", async () => {
  const rows = ids.map((id) => `{"id": ${id}, "question": "q", "answers": ["a"], "text": "t"}`);
  const columns = (name: string, data: unknown, more: readonly object[]): object[] => [
    { name, data, type: "INT64" },
    ...more,
  ];
  const big = ids.filter((id) => id !== ids[1]).map(BigInt);
  const texts = (name: string) => ({ name, data: big.map(() => "t"), type: "STRING" });
  const files = [await file("rows.jsonl", rows.join("\n")), await file("rows.json", `[${rows.join(",")}]`)];
  for (const path of files) {
    assert.deepEqual(await idsOf(readQuestions(path)), ids);
    assert.deepEqual(await idsOf(readDocuments(path)), ids);
  }
  const written = big.map(String);
  const asked = parquet(columns("id", big, [texts("question"), texts("answer")]));
  assert.deepEqual(await idsOf(readQuestions(await file("asked.parquet", asked))), written);
  const read = parquet(columns("id", big, [texts("text")]));
  assert.deepEqual(await idsOf(readDocuments(await file("read.parquet", read))), written);
});

test("ids beyond 2^53 keep their digits in the answers of retrievers", async (t) => {
  const answers = {
    retrieve: `{"result": [[{"document": {"id": ${ids[0]}, "contents": "T\\nt"}, "score": 0.12345678901234567}]]}`,
    search: `[{"id": ${ids[0]}, "contents": "T\\nt"}]`,
    batch_search: `[[{"id": ${ids[0]}, "contents": "T\\nt"}]]`,
  };
  const server = createServer((request, response) => {
    const name = (request.url ?? "").slice(1) as keyof typeof answers;
    response.end(answers[name]);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const protocol of Object.keys(answers) as (keyof typeof answers)[]) {
    const search = remoteSearch({ url: `http://127.0.0.1:${port}/${protocol}`, protocol });
    const [hits] = await search(["q"], { topK: 1 });
    assert.equal(hits?.[0]?.id, ids[0], protocol);
  }
});

test("answers that are numbers are their texts, one or in a list, and truth values are refused", async () => {
  const row = (more: object): string => JSON.stringify({ id: "a", question: "q", ...more });
  const answersIn = async (text: string): Promise<readonly string[]> => {
    for await (const { answers } of readQuestions(await file("rows.jsonl", text))) return answers;
    return [];
  };
  assert.deepEqual(await answersIn(row({ answer: 42 })), ["42"]);
  assert.deepEqual(await answersIn(row({ golden_answers: [42, "forty-two", 0.5, -1] })), [
    ...["42", "forty-two", "0.5", "-1"],
  ]);
  assert.deepEqual(await answersIn('{"question": "q", "answers": [9007199254740993]}'), [ids[0]]);
  await assert.rejects(answersIn(row({ answer: true })), /column "answer": texts or numbers.*got true/);
  await assert.rejects(answersIn(row({ answers: [{}] })), /column "answers": texts or numbers/);
  const verl = { reward_model: { style: "rule", ground_truth: { target: [42, 7] } }, question: "q" };
  assert.deepEqual((await questionsOf("a.jsonl", JSON.stringify(verl), "verl"))[0]?.answers, ["42", "7"]);
  const flashrag = row({ golden_answers: [1906] });
  assert.deepEqual((await questionsOf("b.jsonl", flashrag, "flashrag"))[0]?.answers, ["1906"]);
  const numbers = parquet([
    { name: "question", data: ["q"], type: "STRING" },
    { name: "answer", data: [42n], type: "INT64" },
  ]);
  assert.deepEqual(await idsOf(readQuestions(await file("c.parquet", numbers))), ["q0"]);
});

test("predictions that are numbers are scored as their texts", async () => {
  const path = await file("p.jsonl", JSON.stringify({ question: "q", golden_answers: [42], pred: 42 }));
  for await (const { em } of scoreAnswers(path, "search-r1")) assert.equal(em, 1);
});
