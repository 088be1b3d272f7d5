/** The one runner of many questions: bounds, losses, failures, what an earlier run knows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { SeekError } from "../../lib/base/errors.ts";
import { type QuestionsProgress, runQuestions } from "../../lib/rollout/run-questions.ts";

const questions = Array.from({ length: 6 }, (_, i) => ({ id: `q${i}`, question: `${i}?`, answers: ["x"] }));
const lose = () => Promise.reject(new SeekError("ERR_REMOTE", "no server"));

test("what is known is not asked, what a server fails at is lost, the order is that of the questions", async () => {
  const told: QuestionsProgress[] = [];
  const asked: string[] = [];
  const { results, lost } = await runQuestions<string>(questions, {
    ask: async ({ id }, index) => {
      asked.push(id);
      await setTimeout(6 - index);
      return index === 3 ? lose() : id;
    },
    finish: async (id) => `${id}!`,
    known: new Map([[1, "known"]]),
    onProgress: (progress) => told.push(progress),
  });
  assert.deepEqual(results, ["q0!", "known", "q2!", undefined, "q4!", "q5!"]);
  assert.deepEqual(lost, [{ id: "q3", reason: "no server" }]);
  assert.deepEqual(asked, ["q0", "q2", "q3", "q4", "q5"]);
  assert.deepEqual(told.at(-1), { done: 6, total: 6, lost: 1 });
});

test("the first failure is what is thrown; those under way are told to stop, no other is asked", async () => {
  const asked: string[] = [];
  const stopped: string[] = [];
  const run = runQuestions(questions, {
    ask: async ({ id }, index, signal) => {
      asked.push(id);
      if (index === 1) throw new TypeError("our mistake");
      await setTimeout(5_000, undefined, { signal }).catch(() => stopped.push(id));
      throw new SeekError("ERR_ABORTED", "stopped");
    },
    concurrency: 3,
  });
  await assert.rejects(run, new TypeError("our mistake"));
  assert.deepEqual(
    [asked, stopped],
    [
      ["q0", "q1", "q2"],
      ["q0", "q2"],
    ],
  );
});

test("a result that cannot be finished ends the run, though nobody waits for it", async () => {
  const finish = () => Promise.reject(new SeekError("ERR_IO", "disk full"));
  await assert.rejects(runQuestions(questions, { ask: async () => 1, finish }), { code: "ERR_IO" });
});

test("losses in a row are a server that is gone; without patience the first one is thrown as it is", async () => {
  let asked = 0;
  const ask = () => {
    asked += 1;
    return lose();
  };
  const message = "3 questions in a row failed, the last one: no server";
  const run = runQuestions(questions, { ask, patience: 3, concurrency: 1 });
  await assert.rejects(run, { code: "ERR_REMOTE", message });
  assert.equal(asked, 3);
  await assert.rejects(runQuestions(questions, { ask, patience: 0 }), { message: "no server" });
});
