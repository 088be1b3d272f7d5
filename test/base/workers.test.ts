/** The native threads in workers, in a process whose main thread never loads the addon. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

const url = new URL("../../lib/search/vector-index.js", import.meta.url).href;
const source = `
  const { parentPort } = require("node:worker_threads");
  import(${JSON.stringify(url)}).then(async ({ VectorIndex }) => {
    const index = VectorIndex.create("exact", { dim: 2, capacity: 2 });
    await index.add(new Float32Array([1, 0, 0, 1]));
    const { ids } = await index.search(new Float32Array([0, 1]), { topK: 1 });
    parentPort.postMessage(ids[0]);
  });`;

test("a worker finds the native threads running after the last one has left", {
  timeout: 20_000,
}, async () => {
  for (let i = 0; i < 2; i++) {
    const worker = new Worker(source, { eval: true });
    const [[id]] = await Promise.all([once(worker, "message"), once(worker, "exit")]);
    assert.equal(id, 1);
  }
});
