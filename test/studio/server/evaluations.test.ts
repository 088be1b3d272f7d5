/** Evaluations over the studio's API: figures, question by question, and two side by side as `eval compare` has it. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type {
  ComparisonPage,
  EvaluationComparison,
  EvaluationDetail,
  EvaluationList,
  QuestionDetail,
  QuestionPage,
} from "../../../apps/studio/api.ts";
import { compareRuns } from "../../../lib/evaluate/compare.ts";
import { lines } from "../../runs/logs.ts";
import { type Asked, withFolder, withStudio } from "./asked.ts";

const numQuestions = 60;

function results(seed: number) {
  return Array.from({ length: numQuestions }, (_, index) => {
    const em = (index * 7 + seed) % 3 === 0 ? 1 : 0;
    return {
      ...{
        set: index % 2 === 0 ? "even" : "odd",
        index,
        id: `q${index}`,
        question: `Who wrote Book ${index}?`,
      },
      ...{ answers: ["Ada"], answer: em === 1 ? "Ada" : null, em, f1: em === 1 ? 1 : (index % 4) / 10 },
      ...{ acc: em, precision: em, recall: em, judge: null, retrievalRecall: null, retrievalPrecision: null },
      ...{
        rounds: (index + seed) % 4,
        queries: [[`book ${index}`]],
        found: [[[{ id: "3", title: "Book", score: 2 }]]],
      },
      ...{ generatedTokens: 10 + index, observedTokens: 5, invalidActions: 0, failures: 0, stop: "answer" },
      ...{ seconds: 0.5 + index / 100, elapsedSeconds: index },
      segments: [{ kind: "policy", text: `<answer> "${index}" </answer>` }],
      ...{ settings: "s", digest: "d" },
    };
  });
}

const withTwo = (use: (asked: Asked, ids: readonly string[], paths: readonly string[]) => Promise<void>) =>
  withFolder(async (folder) => {
    const paths = ["first.jsonl", "second.jsonl"].map((name) => join(folder, name));
    for (const [seed, path] of paths.entries()) await writeFile(path, lines(results(seed)));
    await withStudio({ roots: [folder] }, async (asked) => {
      const { evaluations } = await asked.get<EvaluationList>("/evaluations");
      const ids = paths.map((path) => evaluations.find((each) => each.path === path)!.id);
      await use(asked, ids, paths);
    });
  });

test("figures have the means of the file, with intervals around them, for each set too", async () => {
  await withTwo(async ({ get }, [first]) => {
    const {
      figures,
      bySet,
      numQuestions: count,
      sets,
    } = await get<EvaluationDetail>(`/evaluations/${first}`);
    assert.deepEqual(
      [count, sets, bySet.map(({ set }) => set)],
      [numQuestions, ["even", "odd"], ["even", "odd"]],
    );
    const em = figures.find(({ name }) => name === "em")!;
    const mean = results(0).reduce((sum, row) => sum + row.em, 0) / numQuestions;
    assert.ok(Math.abs(em.mean! - mean) < 1e-12 && em.interval![0] < mean && mean < em.interval![1]);
  });
});

test("questions are filtered and sorted, and each opens with its conversation and what it found", async () => {
  await withTwo(async ({ get }, [first]) => {
    const rows = results(0);
    const page = await get<QuestionPage>(
      `/evaluations/${first}/questions?em=0&set=odd&sort=f1&order=desc&limit=5`,
    );
    const wanted = rows
      .filter(({ em, set }) => em === 0 && set === "odd")
      .sort((a, b) => b.f1 - a.f1 || a.index - b.index);
    assert.deepEqual([page.total, page.matching], [numQuestions, wanted.length]);
    assert.deepEqual(
      page.rows.map(({ row }) => row),
      wanted.slice(0, 5).map(({ index }) => index),
    );
    const found = await get<QuestionPage>(`/evaluations/${first}/questions?text=BOOK%2059`);
    assert.deepEqual(
      found.rows.map(({ id }) => id),
      ["q59"],
    );
    const detail = await get<QuestionDetail>(`/evaluations/${first}/questions/7`);
    assert.deepEqual(detail.segments, rows[7]!.segments);
    assert.deepEqual(detail.searchRounds, [
      { queries: [{ text: "book 7", hits: [{ rank: 1, id: "3", title: "Book", score: 2 }] }] },
    ]);
  });
});

test("two evaluations differ as eval compare says, and the questions on which they do are listed", async () => {
  await withTwo(async ({ get, status }, [first, second], [firstPath, secondPath]) => {
    const told = await get<EvaluationComparison>(`/comparison?first=${first}&second=${second}`);
    const { differences, mcnemar, questions } = await compareRuns(firstPath!, secondPath!);
    assert.deepEqual([told.questions, told.mcnemar], [questions, mcnemar]);
    const measured = told.differences.filter(({ name }) => name in differences);
    assert.ok(measured.length >= 8);
    for (const { name, ...difference } of measured) assert.deepEqual(difference, differences[name], name);
    const page = await get<ComparisonPage>(
      `/comparison/questions?first=${first}&second=${second}&show=second&limit=500`,
    );
    assert.equal(page.matching, mcnemar.onlySecond);
    assert.ok(page.rows.every((pair) => pair.first.id === pair.second.id && pair.second.em > pair.first.em));
    await writeFile(secondPath!, lines(results(1).slice(1)));
    const refused = await status(`/comparison?first=${first}&second=${second}`);
    assert.deepEqual([refused.status, /same questions/.test(refused.message)], [409, true]);
  });
});
