/** The rules of selection as the papers write them, over scripted rollouts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { attemptQuestions } from "../../../lib/train/curate/attempts.ts";
import { r1SearcherCurriculum, ragCurriculum, splitQuestions } from "../../../lib/train/curate/curriculum.ts";
import { difficultyOf } from "../../../lib/train/curate/selection.ts";
import { isYes, numbered, scriptedAgent } from "./scripted.ts";

test("RAG-R1: of the wrong ones those with a success in ten rollouts, of the right ones a quarter", async () => {
  const questions = numbered(120);
  const solved = new Set(questions.slice(0, 80).map(({ id }) => id));
  const asked: string[] = [];
  // Of the 40 others the first right rollout is the 1st to the 20th, two of each.
  const agent = scriptedAgent((number) => (number % 20) + 1, asked);
  const { questions: chosen, counts } = await ragCurriculum(questions, { agent, isRight: isYes, solved });
  const hard = chosen.filter(({ difficulty }) => difficulty === "hard");
  const expected = questions.slice(80).filter((_, i) => i % 20 < 10);
  assert.deepEqual(
    hard.map(({ id }) => id),
    expected.map(({ id }) => id),
  );
  assert.deepEqual(
    hard.map(({ attempts }) => attempts),
    expected.map((_, i) => (i % 10) + 1),
  );
  assert.deepEqual(counts, { easy: 80, "easy, chosen": 20, hard: 20, unsolved: 20 });
  assert.equal(chosen.filter(({ difficulty }) => difficulty === "easy").length, 20);
  assert.ok(
    asked.every((id) => !solved.has(id)),
    "easy questions are not tried again",
  );
  // A success ends a question: 1 + 2 + ... + 10 rollouts, and ten for each that is never right, twice.
  assert.equal(asked.length, 2 * (55 + 10 * 10));
});

test("the easy quarter is drawn by the seed and not by the order of the questions", async () => {
  const questions = numbered(100);
  const solved = new Set(questions.map(({ id }) => id));
  const choose = async (seed: number, list = questions) => {
    const options = { agent: scriptedAgent(() => 1), isRight: isYes, solved, seed };
    return (await ragCurriculum(list, options)).questions.map(({ id }) => id).sort();
  };
  assert.equal((await choose(0)).length, 25);
  assert.deepEqual(await choose(0, [...questions].reverse()), await choose(0));
  assert.notDeepEqual(await choose(1), await choose(0));
});

test("R1-Searcher: fewer than 10 rollouts are easy, 10 to 20 medium, more difficult", async () => {
  const agent = scriptedAgent((number) => number + 1);
  const { questions: chosen, counts } = await r1SearcherCurriculum(numbered(40), { agent, isRight: isYes });
  assert.deepEqual(counts, { easy: 9, medium: 11, difficult: 10, unsolved: 10 });
  assert.deepEqual(
    chosen.map(({ attempts, difficulty }) => `${attempts} ${difficulty}`),
    Array.from({ length: 21 }, (_, i) => `${i + 10} ${i + 10 <= 20 ? "medium" : "difficult"}`),
  );
  assert.equal(difficultyOf({ attempts: 9, isRight: true }), "easy");
  assert.equal(difficultyOf({ attempts: 21, isRight: true }), "difficult");
  assert.equal(difficultyOf({ attempts: 5, isRight: false }), "unsolved");
});

test("a twentieth of the questions validates, and none of them trains", () => {
  const questions = numbered(200);
  const { train, validation } = splitQuestions(questions);
  assert.deepEqual([train.length, validation.length], [190, 10]);
  assert.equal(new Set([...train, ...validation].map(({ id }) => id)).size, 200);
});

test("what a teacher fails at is counted, and when it fails at everything that is the error", async () => {
  const { SeekError } = await import("../../../lib/base/errors.ts");
  const agent = scriptedAgent(() => 1);
  const failing: typeof agent = async (question, how) => {
    if (Number(question.id.slice(1)) % 2 === 0) throw new SeekError("ERR_REMOTE", "the teacher is down");
    return agent(question, how);
  };
  const { outcomes, failures } = await attemptQuestions(numbered(5), { agent: failing, isRight: isYes });
  assert.deepEqual([outcomes.length, failures.map(({ id }) => id)], [2, ["q0", "q2", "q4"]]);
  await assert.rejects(attemptQuestions(numbered(1), { agent: failing, isRight: isYes }), {
    code: "ERR_REMOTE",
    message: /1 questions in a row failed, the last one: the teacher is down/,
  });
  const nonsense = () => ({ failure: "the judge says maybe" });
  const judged = attemptQuestions(numbered(2), { agent, isRight: nonsense });
  await assert.rejects(judged, { message: /the judge says maybe/ });
});

test("an answer that is missing is wrong, and a rule that breaks is no silence", async () => {
  const { answer: _, ...mute } = (await import("./scripted.ts")).answering("q0", "yes");
  const agent = async () => ({ ...mute, stop: "length" as const });
  const { outcomes } = await attemptQuestions(numbered(1), { agent, isRight: isYes, maxAttempts: 3 });
  assert.deepEqual(outcomes, [{ id: "q0", question: "who 0?", attempts: 3, isRight: false }]);
  const broken = () => {
    throw new TypeError("our mistake");
  };
  await assert.rejects(
    attemptQuestions(numbered(1), { agent: scriptedAgent(() => 1), isRight: broken }),
    TypeError,
  );
});
