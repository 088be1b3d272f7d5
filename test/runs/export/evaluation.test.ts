/** Files of results as exporters read them, those that are being written included. */
import assert from "node:assert/strict";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { exportedEvaluation } from "../../../apps/runs/export/exported-evaluation.ts";
import { inspectLog } from "../../../apps/runs/export/inspect.ts";
import { lockFile } from "../../../lib/base/files/folder-lock.ts";
import { withFolder } from "../../studio/server/asked.ts";
import { lines } from "../logs.ts";

const result = (id: string, em: number) => ({
  ...{ set: "nq", index: 0, id, question: "Who?", answers: ["Ada"], answer: "Ada", em, f1: em, acc: em },
  ...{ precision: em, recall: em, judge: null, retrievalRecall: null, retrievalPrecision: null },
  ...{ rounds: 1, queries: [["ada"]], generatedTokens: 9, observedTokens: 5, stop: "answer", seconds: 1 },
  segments: [{ kind: "policy", text: "<answer> Ada </answer>" }],
});

async function statusOf(path: string): Promise<string> {
  const parts = [];
  for await (const part of inspectLog(await exportedEvaluation(path), { version: "1" })) parts.push(part);
  return JSON.parse(parts.join("")).status;
}

test("an evaluation that is being written, or broke off within a line, is not exported as a success", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "answers.jsonl");
    const lock = await lockFile(path);
    await writeFile(path, lines([result("a", 1), result("b", 0)]));
    assert.equal(await statusOf(path), "started");
    lock.close();
    assert.equal(await statusOf(path), "success");
    await appendFile(path, '{"set":"nq","ind');
    assert.equal(await statusOf(path), "started");
  });
});

test("an evaluation has the means of its lines, and a line that is no result is named", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "answers.jsonl");
    await writeFile(path, lines([result("a", 1), result("b", 0), result("b", 1)]));
    const { figures = [], trajectories } = await exportedEvaluation(path);
    assert.equal(figures.find(({ name }) => name === "em")?.value, 2 / 3);
    const attempts = [];
    for await (const { questionId, epoch, scores } of trajectories()) {
      attempts.push([questionId, epoch, scores.em]);
    }
    assert.deepEqual(attempts, [
      ["nq/a", 1, 1],
      ["nq/b", 1, 0],
      ["nq/b", 2, 1],
    ]);
    await appendFile(path, lines([{ id: "c", question: "Who?" }]));
    await assert.rejects(exportedEvaluation(path), /answers\.jsonl:4: expected a result .* got id, question/);
  });
});
