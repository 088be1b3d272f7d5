/** Engines in worker threads of one process, one of which ends in the middle. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { Engine } from "../../lib/engine/engine.ts";
import { tinyModel } from "../engine/models.ts";

const start = (workerData: object): Worker =>
  new Worker(new URL("./generating-thread.js", import.meta.url), { workerData });

async function idsOf(worker: Worker): Promise<unknown> {
  const said: unknown[] = [];
  worker.on("message", (message) => said.push(message));
  await once(worker, "exit");
  return said.at(-1);
}

async function idsHere(): Promise<number[]> {
  await using engine = await Engine.open(await tinyModel());
  return [...(await engine.open([1, 2, 3], { seed: 0 }).generate({ maxTokens: 8, stopIds: [] })).ids];
}

test("threads that generate at the same time have the ids of the main one", async () => {
  const work = { sequences: 1, maxTokens: 8 };
  const [first, second, here] = await Promise.all([idsOf(start(work)), idsOf(start(work)), idsHere()]);
  assert.deepEqual([first, second], [[here], [here]]);
});

test("a thread that is terminated while it generates leaves the process and its other engines whole", async () => {
  const worker = start({ sequences: 32, maxTokens: 500 });
  const exited = once(worker, "exit");
  await once(worker, "message");
  await worker.terminate();
  assert.deepEqual(await exited, [1]);
  assert.equal((await idsHere()).length, 8);
});
