/** Every published format of questions becomes ours. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";
import type { FormatName } from "../../lib/data/formats.ts";
import { prepareQuestions } from "../../lib/data/prepare.ts";
import { readQuestions } from "../../lib/data/question.ts";
import { projectRoot } from "../project.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";
import { file, folder, lines, prepared, questionsOf } from "./written-files.ts";

test("HotpotQA and 2WikiMultiHopQA keep their ids and kinds", async () => {
  const rows = [
    { _id: "5a7a", question: "Who?", answer: "Ada", type: "bridge", level: "hard", context: [["T", ["s"]]] },
    { _id: "5ab3", question: "Same?", answer: "yes", type: "comparison", supporting_facts: [["T", 0]] },
  ];
  const expected = [
    { id: "5a7a", question: "Who?", answers: ["Ada"], kind: "bridge" },
    { id: "5ab3", question: "Same?", answers: ["yes"], kind: "comparison" },
  ];
  for (const format of ["hotpotqa", "2wikimultihopqa"] as const)
    assert.deepEqual(await questionsOf("dev.json", JSON.stringify(rows), format), expected);
});

test("2WikiMultiHopQA's aliases and demonyms come from their own file", async () => {
  const rows = [
    { _id: "a", question: "Where?", answer: "United States", type: "compositional", answer_id: "Q30" },
    { _id: "b", question: "Same?", answer: "yes", type: "comparison", answer_id: null },
  ];
  const given = { Q_id: "Q30", aliases: ["USA", "United States"], demonyms: ["American"] };
  const aliases = await file("id_aliases.json", lines(given, { Q_id: "Q1", aliases: [], demonyms: [] }));
  const questions = await questionsOf("dev.json", JSON.stringify(rows), "2wikimultihopqa", { aliases });
  assert.deepEqual(
    questions.map(({ answers }) => answers),
    [["United States", "USA", "American"], ["yes"]],
  );
  const { answer_id: _, ...older } = rows[0] ?? {};
  await assert.rejects(questionsOf("old.jsonl", lines(older), "2wikimultihopqa", { aliases }), {
    message: /old\.jsonl:1: expected column "answer_id"/,
  });
  await assert.rejects(questionsOf("x.jsonl", lines(older), "hotpotqa", { aliases }), {
    code: "ERR_ARGUMENT",
  });
});

test("MuSiQue's aliases are answers, and unanswerable questions are left out and counted", async () => {
  const row = { id: "2hop__1_2", question: "Where?", answer: "Rome", answer_aliases: ["Roma", "Rome", " "] };
  const text = lines({ ...row, answerable: true }, { ...row, id: "2hop__3", answerable: false });
  const { questions, leftOut } = await prepared("musique.jsonl", text, "musique");
  assert.deepEqual(questions, [{ id: "2hop__1_2", question: "Where?", answers: ["Rome", "Roma"] }]);
  assert.deepEqual(leftOut, [{ where: `${join(folder, "musique.jsonl")}:2`, reason: "unanswerable" }]);
});

test("Bamboogle is a CSV, whose quoted fields hold commas, quotes and line feeds", async () => {
  const text = 'Question,Answer\r\n"Who said ""no"", and\nwhy?",Ada\r\nplain 5" pipe?,"1,000"\r\n';
  const expected = [
    { id: "q0", question: 'Who said "no", and\nwhy?', answers: ["Ada"] },
    { id: "q1", question: 'plain 5" pipe?', answers: ["1,000"] },
  ];
  assert.deepEqual(await questionsOf("bamboogle.csv", text, "bamboogle"), expected);
  assert.deepEqual(await questionsOf("b.csv.gz", gzipSync(text), "bamboogle"), expected);
});

test("NQ has lists of answers", async () => {
  const text = lines({ question: "who told it", answer: ["Jesus", "Jesus Christ"] });
  assert.deepEqual(await questionsOf("NQ-open.dev.jsonl", text, "nq"), [
    { id: "q0", question: "who told it", answers: ["Jesus", "Jesus Christ"] },
  ]);
});

test("TriviaQA's aliases are read from its own JSON and from the hub's form", async () => {
  const own = {
    Data: [{ QuestionId: "tc_2", Question: "Who?", Answer: { Value: "Sinclair", Aliases: ["S. Lewis"] } }],
    Domain: "Web",
  };
  const hub = { question_id: "tc_2", question: "Who?", answer: { value: "Sinclair", aliases: ["S. Lewis"] } };
  const expected = [{ id: "tc_2", question: "Who?", answers: ["Sinclair", "S. Lewis"] }];
  assert.deepEqual(await questionsOf("own.json", JSON.stringify(own, null, 4), "triviaqa"), expected);
  const secret = { ...hub, question_id: "tc_3", answer: { value: "<unk>", aliases: [] } };
  const { questions, leftOut } = await prepared("hub.jsonl", lines(hub, secret), "triviaqa");
  assert.deepEqual(questions, expected);
  assert.deepEqual(
    leftOut.map(({ reason }) => reason),
    ["answer not published"],
  );
});

test("PopQA's aliases are a JSON list in a field of a TSV", async () => {
  const text = 'id\tprop\tquestion\tpossible_answers\n42\tcomposer\tWho?\t"[""Ralph Rainger"", ""R. R.""]"\n';
  assert.deepEqual(await questionsOf("test.tsv", text, "popqa"), [
    { id: "42", question: "Who?", answers: ["Ralph Rainger", "R. R."], kind: "composer" },
  ]);
  await assert.rejects(questionsOf("bad.tsv", text.replaceAll('"', ""), "popqa"), {
    code: "ERR_FORMAT",
    message: /bad\.tsv:2: expected column "possible_answers": a JSON list/,
  });
});

test("MedQA's choices stand in the question, in both of its forms", async () => {
  const own = { question: "Which?", answer: "Tell", options: { A: "Hide", B: "Tell" }, answer_idx: "B" };
  const bigBio = { id: "0", question: "Which?", choices: ["Hide", "Tell"], answer: ["Tell"] };
  const expected = {
    question: "Which?\nOptions:\nA. Hide\nB. Tell",
    answers: ["Tell", "B. Tell", "B.Tell", "B、Tell", "B:Tell", "B：Tell"],
    choices: ["Hide", "Tell"],
  };
  assert.deepEqual(await questionsOf("us.jsonl", lines(own), "medqa"), [{ id: "q0", ...expected }]);
  assert.deepEqual(await questionsOf("zh.jsonl", lines(bigBio), "medqa"), [{ id: "0", ...expected }]);
  const three = lines({ ...own, options: { ...own.options, C: null } });
  assert.deepEqual(await questionsOf("p.jsonl", three, "medqa"), [{ id: "q0", ...expected }]);
  const wrong = lines({ ...bigBio, answer: ["Ask"] });
  await assert.rejects(questionsOf("w.jsonl", wrong, "medqa"), { message: /one of the choices, got "Ask"/ });
});

test("LongBench's sets of question answering are read, others refused", async () => {
  const row = { _id: "a1", input: "Where?", context: "long", answers: ["Rome", "Roma"], dataset: "qasper" };
  assert.deepEqual(await questionsOf("qasper.jsonl", lines(row), "longbench"), [
    { id: "a1", question: "Where?", answers: ["Rome", "Roma"], source: "qasper" },
  ]);
  await assert.rejects(questionsOf("x.jsonl", lines({ ...row, dataset: "gov_report" }), "longbench"), {
    code: "ERR_FORMAT",
    message: /x\.jsonl:1: expected column "dataset": one of narrativeqa, .* got gov_report/,
  });
});

test("ASearcher is read from parquet and from JSON Lines", async () => {
  const columnData = [
    { name: "question", data: ["a?", "b?"] },
    { name: "answer", data: ["x", "y"] },
  ];
  const bytes = new Uint8Array(parquetWriteBuffer({ columnData }));
  assert.deepEqual(await questionsOf("test.parquet", bytes, "asearcher"), [
    { id: "q0", question: "a?", answers: ["x"] },
    { id: "q1", question: "b?", answers: ["y"] },
  ]);
  await assert.rejects(questionsOf("test.parquet", bytes, "flashrag"), {
    message: /expected column "golden_answers", got columns question, answer$/,
  });
  const text = lines({ qid: "t1", question: "a?", answer: ["x", "z"], source: "base" });
  assert.deepEqual(await questionsOf("train.jsonl", text, "asearcher"), [
    { id: "t1", question: "a?", answers: ["x", "z"], source: "base" },
  ]);
});

test("FlashRAG's right choices are answers, and its metadata may say the kind", async () => {
  const text = lines(
    { id: "dev_0", question: "a?", golden_answers: ["x"], metadata: { type: "bridge" } },
    { id: "dev_1", question: "b?", golden_answers: [1], choices: ["no", "yes"], metadata: {} },
  );
  assert.deepEqual(await questionsOf("dev.jsonl", text, "flashrag"), [
    { id: "dev_0", question: "a?", answers: ["x"], kind: "bridge" },
    { id: "dev_1", question: "b?", answers: ["yes"] },
  ]);
  const wrong = lines({ id: "1", question: "b?", golden_answers: [2], choices: ["no", "yes"] });
  await assert.rejects(questionsOf("w.jsonl", wrong, "flashrag"), { message: /indices below 2, got \[2\]/ });
});

test("verl's rows are read with ids after their data set, the question from the prompt where no column has it", async () => {
  const prompt = [{ role: "user", content: "Say it. Question: none. Question: Who?\n" }];
  const text = lines(
    {
      data_source: "nq",
      prompt,
      reward_model: { style: "rule", ground_truth: { target: ["Ada", "A. B."] } },
      extra_info: { split: "test", index: 5 },
    },
    {
      id: "2hop_1",
      data_source: "musique",
      question: "Where?",
      reward_model: { style: "rule", ground_truth: ["Rome"] },
      extra_info: { id: "2hop_1" },
    },
    {
      data_source: "hotpotqa",
      question: "When?",
      reward_model: { ground_truth: "1902" },
      extra_info: { index: 5 },
    },
  );
  assert.deepEqual(await questionsOf("train.jsonl", text, "verl"), [
    { id: "nq/test_5", question: "Who?", answers: ["Ada", "A. B."], split: "test", source: "nq" },
    { id: "musique/2hop_1", question: "Where?", answers: ["Rome"], source: "musique" },
    { id: "hotpotqa/5", question: "When?", answers: ["1902"], source: "hotpotqa" },
  ]);
});

test("Search-R1's columns are read as Arrow writes them, in several row groups", async () => {
  const path = join(projectRoot, "test", "golden", "data", "verl.parquet");
  const { questions } = await prepareQuestions([{ path }], { format: "verl" });
  const answers = [["Ada", "A. B."], ["Où ça"], ["1902"], ["a", "b", "c"]];
  const sources = ["nq", "nq", "hotpotqa", "hotpotqa"];
  const expected = sources.map((source, i) => ({
    id: `${source}/train_${i}`,
    question: `Question ${i}?`,
    answers: answers[i],
    split: "train",
    source,
  }));
  assert.deepEqual(questions, expected);
});

test("several questions in one row of verl's have one answer that holds all of theirs", async () => {
  const path = join(projectRoot, "test", "golden", "data", "multi.parquet");
  const { questions } = await prepareQuestions([{ path }], { format: "verl" });
  const [two, eight] = questions;
  assert.deepEqual(two, {
    id: "nq_hotpotqa_train_multi_2/train_0",
    question: "who wrote it?; where is it?",
    answers: ["Ada; Rome", "A. B.; Rome"],
    split: "train",
    source: "nq_hotpotqa_train_multi_2",
  });
  // Of 3^8 combinations those with at most one alias in place of the first.
  assert.equal(eight?.answers.length, 1 + 8 * 2);
  assert.equal(eight?.answers[0], "0a; 1a; 2a; 3a; 4a; 5a; 6a; 7a");
  assert.equal(eight?.answers[4], "0a; 1c; 2a; 3a; 4a; 5a; 6a; 7a");
});

test("R1-Searcher's rows go by their idx", async () => {
  const text = lines({ idx: 37653, question: "Which?", answer: "Route 22", pred_anses: [""] });
  assert.deepEqual(await questionsOf("stage_1.jsonl", text, "r1-searcher"), [
    { id: "37653", question: "Which?", answers: ["Route 22"] },
  ]);
});

test("published files are read to the last row", { skip: skipWithoutData }, async () => {
  const sets: [string, FormatName, number][] = [
    ["hipporag/hotpotqa_train.json", "hotpotqa", 100],
    ["flashrag-format/nq_test.jsonl", "flashrag", 1000],
    ["flashrag-format/triviaqa_test.jsonl", "flashrag", 1000],
    ["flashrag-format/popqa_test.jsonl", "flashrag", 1000],
    ["flashrag-format/bamboogle_test.jsonl", "flashrag", 125],
    ["medqa/medqa_US_4options_test.jsonl", "medqa", 1273],
    ["medqa/medqa_zh_test.jsonl", "medqa", 3426],
    ["asearcher/test_hotpotqa_rand1000.parquet", "asearcher", 1000],
    ["asearcher/test_musique_rand1000.parquet", "asearcher", 1000],
    ["rag-r1/hotpotqa_train_filter/test.parquet", "verl", 252],
    ["rag-r1/hotpotqa_train_filter_mq/test.parquet", "verl", 351],
    ["r1-searcher/train/stage_1.jsonl", "r1-searcher", 350],
    ["r1-searcher/train/stage_2.jsonl", "r1-searcher", 8148],
    ["r1-searcher/eval/2wiki_500.jsonl", "r1-searcher", 500],
  ];
  for (const [name, format, count] of sets) {
    const { questions, leftOut } = await prepareQuestions([{ path: sharedData("qa", name) }], {
      format,
    });
    assert.deepEqual([name, questions.length, leftOut.length], [name, count, 0]);
  }
});

test("RAG-R1's parquet has the questions of the JSON that it was made from", {
  skip: skipWithoutData,
}, async () => {
  for (const name of ["hotpotqa_train_filter", "hotpotqa_train_filter_mq"]) {
    const at = (base: string): string => sharedData("qa", "rag-r1", name, base);
    const { questions } = await prepareQuestions([{ path: at("test.parquet") }], { format: "verl" });
    const expected = [];
    for await (const { question: written, answers } of readQuestions(at("test_data.json"))) {
      // Its script strips questions and ends each with a question mark.
      const question = `${written.trim().replace(/\?$/, "")}?`;
      expected.push({
        question,
        answers,
        id: `${name}/test_${expected.length}`,
        split: "test",
        source: name,
      });
    }
    assert.deepEqual(questions, expected);
  }
});
