/** Prediction files of other systems, scored by their own rules. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  answerableTotals,
  meanScores,
  type ScoredAnswer,
  scoreAnswers,
} from "../../lib/evaluate/score-answers.ts";
import { bleu } from "../../lib/reward/metrics/bleu.ts";
import { coverage, exactMatch, f1 } from "../../lib/reward/metrics/metrics.ts";
import { type RulesName, scoreAnswer } from "../../lib/reward/metrics/rules.ts";
import { projectRoot } from "../project.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

async function score(path: string, rules: RulesName = "flashrag"): Promise<ScoredAnswer[]> {
  const scored: ScoredAnswer[] = [];
  for await (const answer of scoreAnswers(path, rules)) scored.push(answer);
  return scored;
}

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

test("a rollout log counts the last answer of the reply, never the example of the prompt", async () => {
  const prompt =
    "<|im_start|>user\nFor example, <answer> Beijing </answer>. Question: Where?<|im_end|>\n<|im_start|>assistant\n";
  const rows = [
    {
      sequences_str: `${prompt}<answer>Oslo</answer> no: <answer> Rome </answer><|im_end|>`,
      ground_truth: { target: ["Rome"] },
      score: 1,
    },
    {
      sequences_str: `${prompt}<answer>It is \\boxed{Rome}</answer>`,
      ground_truth: ["Roma", "Rome"],
      data_source: "musique",
    },
    { sequences_str: `${prompt}<search>Rome</search>`, ground_truth: "Beijing" },
    { sequences_str: "User: Where? Assistant: <answer>Rome</answer>", ground_truth: "Rome", id: "7" },
  ];
  const path = await write("rollout.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  const scored = await score(path);
  assert.deepEqual(
    scored.map(({ id, question, prediction, em }) => [id, question, prediction, em]),
    [
      ["q0", "Where?", "Rome", 1],
      ["q1", "Where?", "Rome", 1],
      ["q2", "Where?", "", 0],
      ["7", "User: Where?", "Rome", 1],
    ],
  );
});

test("predictions are read under every name they go by, from lines and from an array", async () => {
  const rows = [
    { question: "q", answer: "Paris", pred_ans: " Paris " },
    { question: "q", golden_answers: ["Rome", "Roma"], prediction: "Roma" },
    { question: "q", golden_answers: "Oslo", pred: null },
    { question: "q", answers: ["Lima"], answer: "Lima, Peru" },
    { question: "q", answers: ["Bern"], answer: null },
  ];
  const lines = await write("lines.jsonl", rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const array = await write("array.json", JSON.stringify(rows));
  const misnamed = await write("lines.json", `\n\uFEFF${await readFile(lines, "utf8")}`.slice(1));
  const unnamed = await write("array.jsonl", ` \n${JSON.stringify(rows, null, 2)}`);
  for (const path of [lines, array, misnamed, unnamed]) {
    const { n, em, acc } = meanScores(await score(path));
    assert.deepEqual([n, em, acc], [5, 2 / 5, 3 / 5]);
  }
});

test("a row without a prediction, an answer or a question is refused by its place", async () => {
  const cases = [
    [
      '{"question": "q", "answer": "a"}',
      /1: expected column "pred_ans" or "prediction", got columns question, answer/,
    ],
    ['{"question": "q", "pred_ans": "a"}', /1: expected column "answers" or "golden_answers"/],
    ['{"question": "q", "golden_answers": [true], "pred_ans": "a"}', /1: expected column "golden_answers"/],
    ['{"answer": "q", "pred_ans": "a"}', /1: expected column "question"/],
    ['{"question": "q", "answer": "a", "pred_ans": ["a"]}', /1: expected column "pred_ans": text/],
    ["nonsense", /1: expected JSON/],
  ] as const;
  for (const [row, message] of cases) {
    const path = await write("wrong.jsonl", `${row}\n`);
    await assert.rejects(score(path), message);
  }
  assert.throws(() => meanScores([]), { code: "ERR_ARGUMENT" });
});

test("an unanswerable question is right when the answer is empty, and has the official script's totals", async () => {
  // Predictions, with the exact match and F1 that SQuAD 2.0's script 2.0 gives them, computed by hand from its source.
  const rows = [
    [["Paris"], "Paris", 1, 1],
    [["New York"], "york", 0, 2 / 3],
    [["Rome"], "", 0, 0],
    [[], "", 1, 1],
    [[], "The.", 1, 1],
    [[], "Oslo", 0, 0],
    // An accepted answer that normalises to nothing is none.
    [["the"], null, 1, 1],
  ] as const;
  const lines = rows.map(([golden_answers, pred]) => JSON.stringify({ question: "q", golden_answers, pred }));
  const path = await write("squad2.jsonl", lines.join("\n"));
  const scored: ScoredAnswer[] = [];
  for await (const each of scoreAnswers(path, "squad2", { faithful: true })) scored.push(each);
  assert.deepEqual(
    scored.map(({ em, f1 }) => [em, f1]),
    rows.map(([, , em, f1]) => [em, f1]),
  );
  const { HasAns_total, HasAns_exact, ...others } = answerableTotals(scored) ?? assert.fail("has totals");
  assert.deepEqual([HasAns_total, HasAns_exact], [4, 2 / 4]);
  assert.deepEqual(others, {
    HasAns_f1: (1 + 2 / 3 + 1) / 4,
    NoAns_exact: 2 / 3,
    NoAns_f1: 2 / 3,
    NoAns_total: 3,
  });
  assert.equal(answerableTotals(scored.slice(0, 3)), undefined);
  for (const system of ["squad", "flashrag", "search-r1", "rag-r1", "r1-searcher"] as const) {
    const ofEmpty = Object.values(scoreAnswer("", [], system));
    assert.deepEqual(new Set([...ofEmpty, ...Object.values(scoreAnswer("x", [], system))]), new Set([1, 0]));
    assert.ok(
      ofEmpty.every((score) => score === 1),
      system,
    );
  }
  assert.deepEqual(
    [exactMatch("", []), f1("", []), coverage("", []), exactMatch("x", []), f1("x", [])],
    [1, 1, 1, 0, 0],
  );
});

test("published predictions have the totals that their own code gives", {
  skip: skipWithoutData,
}, async () => {
  const text = await readFile(join(projectRoot, "test/golden/reward/prediction_metrics.json"), "utf8");
  const round = (value: number): number => Math.round(value * 1e6) / 1e6;
  for (const [name, expected] of Object.entries(JSON.parse(text))) {
    const { r1s, bleu: expectedBleu, ...flashrag } = expected as Record<string, number> & { r1s: object };
    const path = sharedData("qa/r1-searcher/predictions", `${name}.jsonl`);
    const scored = await score(path);
    const { coverEm1: _, coverEm2: __, ...means } = meanScores(scored);
    const actual = Object.entries(means).map(([key, value]) => [key, round(value)]);
    assert.deepEqual(Object.fromEntries(actual), flashrag);
    const pairs = scored.map(({ prediction, answers }) => ({ answer: prediction, accepted: answers }));
    assert.equal(round(bleu(pairs)), expectedBleu);
    const theirs = meanScores(await score(path, "r1-searcher"));
    assert.deepEqual(
      {
        em: round(theirs.em),
        f1: round(theirs.f1),
        cover_em_1: round(theirs.coverEm1),
        cover_em_2: round(theirs.coverEm2),
        prec: round(theirs.precision),
        recall: round(theirs.recall),
      },
      r1s,
    );
    assert.equal(theirs.acc, theirs.coverEm1);
  }
});
