/** Files become one list of questions: merged, sampled, and what is wrong with them named by its place. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mixSeed } from "../../lib/base/random.ts";
import { readCsvRows } from "../../lib/data/files/csv.ts";
import { formatNames, formatOf } from "../../lib/data/formats.ts";
import { prepareQuestions } from "../../lib/data/prepare.ts";
import { file, lines, prepared, questionsOf } from "./written-files.ts";

test("what is missing, empty or twice there is refused with file and row, in every format", async () => {
  for (const name of formatNames) {
    const path = await file(`${name}.jsonl`, lines({ foo: 1 }));
    const refused = prepareQuestions([{ path }], { format: name });
    await assert.rejects(refused, (error: Error & { code?: string }) => {
      assert.equal(error.code, "ERR_FORMAT");
      assert.ok(error.message.includes(path), error.message);
      return true;
    });
  }
  const cases: [string, RegExp][] = [
    [lines({ id: "1", question: "a?", golden_answers: [" "] }), /x\.jsonl:1: expected at least one answer/],
    [
      lines({ id: "1", question: " ", golden_answers: ["x"] }),
      /x\.jsonl:1: expected a question, got an empty one/,
    ],
    [
      lines({ id: "1", question: "a?", golden_answers: [true] }),
      /x\.jsonl:1: .*"golden_answers".*got \[true\]/,
    ],
    [
      lines(
        { id: "1", question: "a?", golden_answers: ["x"] },
        { id: "1", question: "b?", golden_answers: ["y"] },
      ),
      /x\.jsonl:2: expected an id of its own, got "1" as .*x\.jsonl:1 has/,
    ],
    ["", /x\.jsonl: expected questions, got none/],
  ];
  for (const [text, message] of cases)
    await assert.rejects(questionsOf("x.jsonl", text, "flashrag"), { code: "ERR_FORMAT", message });
  assert.throws(() => formatOf("squad"), {
    code: "ERR_ARGUMENT",
    message: /one of seekrl, hotpotqa.* got squad/,
  });
});

test("invalid rows can be left out, and are then reported with their places", async () => {
  const text = lines(
    { id: "1", question: "a?", golden_answers: [" "] },
    { id: "2", question: "b?", golden_answers: ["y"] },
    { id: "3", question: "nobody knows?", golden_answers: [] },
  );
  const { questions, leftOut } = await prepared("x.jsonl", text, "flashrag", { skipInvalid: true });
  assert.deepEqual(
    questions.map(({ id }) => id),
    ["2", "3"],
  );
  assert.deepEqual(questions[1]?.answers, [], "an unanswerable one is a question");
  assert.equal(leftOut.length, 1);
  assert.match(leftOut[0]?.reason ?? "", /x\.jsonl:1: expected at least one answer/);
});

test("a table with a quote that never closes, or a row of another width, is refused with its line", async () => {
  await assert.rejects(questionsOf("a.csv", 'Question,Answer\nb?,y\n"a?,x\nc?,z\n', "bamboogle"), {
    message: /a\.csv:3: a quote opens here and never closes/,
  });
  await assert.rejects(questionsOf("b.csv", "Question,Answer\na?,x,y\n", "bamboogle"), {
    message: /b\.csv:2: expected 2 fields, got 3/,
  });
  await assert.rejects(questionsOf("c.csv", 'Question,Answer\n"a"?,x\n', "bamboogle"), {
    message: /c\.csv:2: expected a separator behind a quoted field/,
  });
});

test("every table written by the rules of RFC 4180 comes back, whatever its fields hold", async () => {
  const letters = ['"', ",", "\t", "\n", "\r", "\r\n", "a", "é", " ", ""];
  let drawn = 0;
  const draw = (n: number): number => {
    drawn += 1;
    return mixSeed(1, "csv", drawn) % n;
  };
  const field = (): string => Array.from({ length: 1 + draw(6) }, () => letters[draw(10)]).join("");
  const rows = Array.from({ length: 300 }, () => ({ question: `${field()}?`, answer: `${field()}.` }));
  for (const separator of [",", "\t"] as const) {
    const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
    const written = rows.map(
      ({ question, answer }) => `${quoted(question)}${separator}${quoted(answer)}\r\n`,
    );
    const name = separator === "," ? "p.csv" : "p.tsv";
    const path = await file(name, `question${separator}answer\r\n${written.join("")}`);
    const read: object[] = [];
    for await (const { value } of readCsvRows(path, separator)) read.push(value);
    assert.deepEqual(read, rows);
  }
});

test("files of several sets are merged in order, their ids after the names of the sets", async () => {
  const row = { id: "train_0", question: "a?", golden_answers: ["x"] };
  const files = [
    { path: await file("nq.jsonl", lines(row)), source: "nq", split: "train" },
    { path: await file("hotpotqa.jsonl", lines(row)), source: "hotpotqa", split: "train" },
  ];
  const { questions } = await prepareQuestions(files, { format: "flashrag" });
  const rest = { question: "a?", answers: ["x"], split: "train" };
  assert.deepEqual(questions, [
    { ...rest, id: "nq/train_0", source: "nq" },
    { ...rest, id: "hotpotqa/train_0", source: "hotpotqa" },
  ]);
});

test("a sample follows from its seed, whatever the order of the rows, and keeps that order", async () => {
  const rows = Array.from({ length: 50 }, (_, i) => ({ id: `${i}`, question: "a?", golden_answers: ["x"] }));
  const ids = async (list: object[], seed: number) =>
    (await questionsOf("x.jsonl", lines(...list), "flashrag", { sample: 10, seed })).map(({ id }) =>
      Number(id),
    );
  const first = await ids(rows, 1);
  assert.equal(first.length, 10);
  assert.deepEqual(
    first,
    [...first].sort((a, b) => a - b),
  );
  assert.deepEqual((await ids([...rows].reverse(), 1)).reverse(), first);
  assert.notDeepEqual(await ids(rows, 2), first);
});
