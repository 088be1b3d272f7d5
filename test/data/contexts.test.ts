/** The texts that stand with questions: read in every form, and put together as a corpus. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parquetWriteBuffer } from "hyparquet-writer";
import { contextCorpus } from "../../lib/data/contexts.ts";
import type { FormatName } from "../../lib/data/formats.ts";
import { prepareQuestions } from "../../lib/data/prepare.ts";
import { answerMeant, readQuestions, writeQuestions } from "../../lib/data/question.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const lines = (...rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

async function documentsOf(name: string, content: string | Uint8Array, format: FormatName) {
  const path = join(folder, name);
  await writeFile(path, content);
  const { questions } = await prepareQuestions([{ path }], { format, documents: true });
  return questions.map(({ documents }) => documents);
}

test("HotpotQA's sentences bring their blanks, 2WikiMultiHopQA's get one", async () => {
  const common = { _id: "a", question: "Who?", answer: "Ada" };
  const context = [
    ["Ada", ["She was.", ' In "Join In', '!" too.']],
    ["Bob", ["He."]],
  ];
  const expected = [
    { title: "Ada", text: 'She was. In "Join In!" too.' },
    { title: "Bob", text: "He." },
  ];
  assert.deepEqual(await documentsOf("h.json", JSON.stringify([{ ...common, context }]), "hotpotqa"), [
    expected,
  ]);
  const bare = [["Ada", ["She was.", "She wrote."]]];
  const wiki = lines({ ...common, context: bare }, { ...common, _id: "b", context: JSON.stringify(bare) });
  const spaced = [{ title: "Ada", text: "She was. She wrote." }];
  assert.deepEqual(await documentsOf("w.jsonl", wiki, "2wikimultihopqa"), [spaced, spaced]);
  await assert.rejects(documentsOf("bad.jsonl", lines({ ...common, context: [["Ada"]] }), "hotpotqa"), {
    code: "ERR_FORMAT",
    message: /bad\.jsonl:1: expected column "context": pairs of title and sentences, got \["Ada"\] at 0/,
  });
});

test("on the hub HotpotQA has a list of titles and one of sentences", async () => {
  const rows = [{ title: ["Ada", "Bob"], sentences: [["She was.", " Once."], ["He."]] }];
  const columnData = [
    ...["id", "question", "answer"].map((name) => ({ name, data: ["x"] })),
    { name: "context", data: rows, type: "JSON" as const },
  ];
  const parquet = new Uint8Array(parquetWriteBuffer({ columnData }));
  assert.deepEqual(await documentsOf("h.parquet", parquet, "hotpotqa"), [
    [
      { title: "Ada", text: "She was. Once." },
      { title: "Bob", text: "He." },
    ],
  ]);
});

test("MuSiQue has paragraphs; LongBench's context is numbered passages, or one text", async () => {
  const paragraphs = [{ idx: 0, title: "Ada", paragraph_text: "She was.", is_supporting: true }];
  const musique = lines({ id: "2hop", question: "Who?", answer: "Ada", answer_aliases: [], paragraphs });
  assert.deepEqual(await documentsOf("m.jsonl", musique, "musique"), [[{ title: "Ada", text: "She was." }]]);
  const row = { input: "Who?", answers: ["Ada"], dataset: "hotpotqa" };
  const context = "Passage 1:\nAda\nShe was.\nTwice.\n\nPassage 2:\nBob\nHe said: Passage 3: none.\n";
  const long = lines(
    { ...row, _id: "a", context },
    { ...row, _id: "b", dataset: "qasper", context: " A paper.\n" },
  );
  assert.deepEqual(await documentsOf("l.jsonl", long, "longbench"), [
    [
      { title: "Ada", text: "She was.\nTwice." },
      { title: "Bob", text: "He said: Passage 3: none." },
    ],
    [{ title: "", text: "A paper." }],
  ]);
  const path = join(folder, "nq.jsonl");
  await writeFile(path, lines({ question: "Who?", answer: ["Ada"] }));
  await assert.rejects(prepareQuestions([{ path }], { format: "nq", documents: true }), {
    code: "ERR_ARGUMENT",
    message: /documents: expected only with seekrl, hotpotqa, 2wikimultihopqa, musique, longbench, got nq/,
  });
});

test("documents and choices come back as they were written", async () => {
  const path = join(folder, "own.jsonl");
  const question = { id: "a", question: "Which?", answers: ["x"], choices: ["x", "y"] };
  const documents = [{ title: "", text: "one\ntwo" }];
  await writeQuestions(path, [{ ...question, documents }]);
  for await (const read of readQuestions(path)) assert.deepEqual(read, { ...question, documents });
  const { questions } = await prepareQuestions([{ path }], { format: "seekrl" });
  assert.deepEqual(questions, [question]);
  const bad = join(folder, "bad-own.jsonl");
  await writeFile(bad, lines({ ...question, documents: [{ title: "x" }] }));
  await assert.rejects(readQuestions(bad).next(), {
    message: /bad-own\.jsonl:1, documents\[0\]: expected column "text"/,
  });
});

test("each text stands once in the corpus, whoever's distractor it is, and keeps its id", () => {
  const shared = { title: "Ada", text: "She was." };
  const asked = { question: "?", answers: ["x"] };
  const questions = [
    { id: "a", ...asked, documents: [shared, { title: "Ada", text: "Another paragraph." }] },
    {
      id: "b",
      ...asked,
      documents: [
        { title: "Bob", text: " " },
        { title: "Ada ", text: "She was.\n" },
      ],
    },
    { id: "c", ...asked },
  ];
  const passages = [...contextCorpus(questions)];
  assert.deepEqual(
    passages.map(({ title, text }) => ({ title, text })),
    [shared, { title: "Ada", text: "Another paragraph." }],
  );
  const [again] = contextCorpus(questions.slice(1));
  assert.equal(again?.id, passages[0]?.id);
  assert.match(again?.id ?? "", /^[0-9a-f]{16}$/);
});

test("a letter alone stands for its choice, and for nothing where there are none", () => {
  const choices = ["2小时", "4小时内", "a day"];
  const cases = {
    B: "4小时内",
    "(c)": "a day",
    Ａ: "Ａ",
    " b、": "4小时内",
    "（A）": "2小时",
    E: "E",
    "B or C": "B or C",
  };
  for (const [said, meant] of Object.entries(cases))
    assert.equal(answerMeant({ choices }, said), meant, said);
  assert.equal(answerMeant({}, "B"), "B");
});

test("the corpus of real questions is the one that was published beside them", {
  skip: skipWithoutData,
}, async () => {
  const at = (name: string): string => sharedData("qa", "hipporag", name);
  const { questions } = await prepareQuestions([{ path: at("hotpotqa_train.json") }], {
    format: "hotpotqa",
    documents: true,
  });
  const published = JSON.parse(await readFile(at("hotpotqa_train_corpus.json"), "utf8")) as Record<
    string,
    string[]
  >;
  const expected = Object.entries(published).map(([title, sentences]) => [title, sentences.join("").trim()]);
  const ours = [...contextCorpus(questions)].map(({ title, text }) => [title, text]);
  const order = (a: string[], b: string[]): number => ((a[0] ?? "") < (b[0] ?? "") ? -1 : 1);
  assert.deepEqual(ours.sort(order), expected.sort(order));
});
