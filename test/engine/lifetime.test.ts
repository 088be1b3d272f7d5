/** Opening, ending early, closing, and the room that there is. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { Model } from "../../lib/model/model.ts";
import { projectRoot } from "../project.ts";
import { generateOnce, prompt, tinyModel } from "./models.ts";

let model: Model;
let engine: Engine;

before(async () => {
  model = await tinyModel({ maxPosition: 4096 });
  engine = await Engine.open(model);
});

after(async () => {
  await engine.close();
  model.close();
});

test("a signal ends the span and keeps what was sampled", async () => {
  const sequence = engine.open(prompt(5), { seed: 1 });
  const abort = new AbortController();
  const pending = sequence.generate({ maxTokens: 4000, signal: abort.signal });
  setTimeout(() => abort.abort(), 20);
  const span = await pending;
  assert.equal(span.stop, "aborted");
  assert.ok(span.ids.length < 4000);
  assert.equal(sequence.length, 5 + span.ids.length);
  const free = await generateOnce(engine, prompt(5), { maxTokens: span.ids.length + 3, seed: 1 });
  const rest = await sequence.generate({ maxTokens: 3 });
  assert.deepEqual([...span.ids, ...rest.ids], [...free.ids]);
  sequence.close();
});

test("a signal that fired before ends the span at once", async () => {
  const span = await generateOnce(engine, prompt(5), { maxTokens: 10, signal: AbortSignal.abort() });
  assert.equal(span.stop, "aborted");
  assert.equal(span.ids.length, 0);
});

test("leaving a stream early ends the span", async () => {
  const sequence = engine.open(prompt(5), { seed: 1 });
  let numChunks = 0;
  for await (const { ids } of sequence.stream({ maxTokens: 4000 })) {
    assert.ok(ids.length >= 1);
    if (++numChunks === 3) break;
  }
  const { length } = sequence;
  assert.ok(length >= 8 && length < 4005);
  await sequence.generate({ maxTokens: 1 });
  assert.equal(sequence.length, length + 1);
  sequence.close();
});

test("closing a sequence rejects its span, and close may be called again", async () => {
  const sequence = engine.open(prompt(5), { seed: 1 });
  const pending = sequence.generate({ maxTokens: 4000 });
  sequence.close();
  sequence.close();
  await assert.rejects(pending, { code: "ERR_ABORTED" });
  await assert.rejects(sequence.generate({ maxTokens: 1 }), { code: "ERR_STATE" });
  assert.throws(() => sequence.append([1]), { code: "ERR_STATE" });
  assert.throws(() => sequence.fork(), { code: "ERR_STATE" });
});

test("a sequence does one thing at a time", async () => {
  const sequence = engine.open(prompt(5), { seed: 1 });
  const pending = sequence.generate({ maxTokens: 5 });
  await assert.rejects(sequence.generate({ maxTokens: 1 }), { code: "ERR_STATE" });
  assert.throws(() => sequence.append([1]), { code: "ERR_STATE" });
  assert.throws(() => sequence.fork(), { code: "ERR_STATE" });
  await pending;
  sequence.close();
});

test("closing the engine closes its sequences", async () => {
  const own = await Engine.open(model);
  const sequences = Array.from({ length: 20 }, (_, i) => own.open(prompt(5, i), { seed: i }));
  const pending = sequences.map((each) => each.generate({ maxTokens: 4000 }));
  const settled = Promise.allSettled(pending);
  await own.close();
  await own.close();
  for (const result of await settled) {
    assert.equal(result.status === "rejected" && result.reason.code, "ERR_ABORTED");
  }
  assert.throws(() => own.open([1]), { code: "ERR_STATE" });
  await assert.rejects(own.stats(), { code: "ERR_STATE" });
});

test("hundreds of sequences run at once and leave nothing behind", async () => {
  const earlier = await engine.stats();
  const spans = await Promise.all(
    Array.from({ length: 600 }, (_, i) =>
      generateOnce(engine, prompt(1 + (i % 50), i), { maxTokens: 1 + (i % 9), seed: i }),
    ),
  );
  for (const [i, { ids }] of spans.entries()) assert.equal(ids.length, 1 + (i % 9));
  const { numUsedBlocks, numSequences, numSteps } = await engine.stats();
  assert.equal(numUsedBlocks, 0);
  assert.equal(numSequences, 0);
  assert.ok(numSteps - earlier.numSteps < 600);
});

test("a sequence the cache can never hold is refused", async () => {
  await using small = await Engine.open(model, { numBlocks: 3, blockTokens: 4 });
  assert.equal(small.maxTokens, 12);
  await assert.rejects(generateOnce(small, prompt(12), { maxTokens: 1 }), {
    code: "ERR_MEMORY",
    message: "sequence: expected at most 12 tokens (the cache's blocks), got 12 tokens and 1 more",
  });
  await assert.rejects(generateOnce(small, prompt(0), { maxTokens: 1 }), {
    code: "ERR_RANGE",
    message: "sequence: expected at least one token, got none",
  });
  const span = await generateOnce(small, prompt(9), { maxTokens: 50 });
  assert.equal(span.ids.length, 3);
  assert.equal(span.stop, "length");
});

test("the cache is as large as its bytes allow", async () => {
  const { numLayers, numKvHeads, headDim } = model.config;
  const blockBytes = 2 * numLayers * numKvHeads * headDim * 4 * 16;
  await using small = await Engine.open(model, { cacheBytes: 10.5 * blockBytes, blockTokens: 16 });
  assert.equal((await small.stats()).numBlocks, 10);
});

test("an engine outlives its model's close", async () => {
  const own = await tinyModel();
  await using last = await Engine.open(own);
  own.close();
  const span = await generateOnce(last, prompt(5), { maxTokens: 3 });
  assert.equal(span.ids.length, 3);
});

/** Runs lines of a program that has an `engine`, in a process of its own. */
function runProgram(lines: string): {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number | null;
} {
  const engineModule = join(projectRoot, "dist", "lib", "engine", "engine.js");
  const agentModule = join(projectRoot, "dist", "lib", "rollout", "agents", "agent.js");
  const modelsModule = join(projectRoot, "dist", "test", "engine", "models.js");
  const script = `
    import { Engine } from ${JSON.stringify(engineModule)};
    import { ownAgent } from ${JSON.stringify(agentModule)};
    import { tinyModel, prompt } from ${JSON.stringify(modelsModule)};
    const engine = await Engine.open(await tinyModel());
    ${lines}
  `;
  return spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    timeout: 20_000,
  });
}

test("the process waits for a pending span and ends by itself when all are done", () => {
  const { stdout, status } = runProgram(
    "engine.open(prompt(4)).generate({ maxTokens: 50 }).then(({ ids }) => console.log(ids.length));",
  );
  assert.equal(stdout, "50\n");
  assert.equal(status, 0);
});

test("closing the engine first and waiting for its promises later is no unhandled rejection", () => {
  const { stdout, stderr, status } = runProgram(`
    process.on("unhandledRejection", (error) => {
      console.log("unhandled", error.code);
      process.exit(3);
    });
    const open = () => engine.open(prompt(4));
    const tokenizer = { encode: () => prompt(4), decode: () => "" };
    const agent = ownAgent({ engine, tokenizer }, async (rollout) => {
      await (await rollout.open({ prompt: "abc" })).generate({ maxTokens: 400 });
    });
    // Some tokens come before the engine is closed.
    const stepsOf = (stream) => Array.from({ length: 500 }, () => stream.next());
    const pending = [
      open().generate({ maxTokens: 400 }),
      open().score(prompt(400)),
      open().score(prompt(400), { after: 2 }),
      ...stepsOf(open().stream({ maxTokens: 400 })),
      ...stepsOf(agent.stream({ question: "who?" })),
    ];
    await engine.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const codes = pending.map((each) => each.then(() => "done", ({ code }) => code));
    console.log((await Promise.all(codes)).filter((code) => code !== "done").join());
  `);
  assert.equal(stderr, "");
  assert.match(stdout, /^ERR_ABORTED,ERR_ABORTED,ERR_ABORTED,ERR_ABORTED,ERR_(ABORTED|STATE)\n$/);
  assert.equal(status, 0);
});

test("the room in the cache is said at once, and grows with a sequence that is closed while it generates", async () => {
  await using own = await Engine.open(model, { blockTokens: 16, numBlocks: 40 });
  assert.deepEqual(own.blocks, { numBlocks: 40, numFree: 40 });
  const sequence = own.open(prompt(50), { seed: 1 });
  const stream = sequence.stream({ maxTokens: 500, stopIds: [] });
  await stream.next();
  assert.ok(own.blocks.numFree <= 36);
  sequence.close();
  await assert.rejects(
    async () => {
      for await (const _ of stream);
    },
    { code: "ERR_ABORTED" },
  );
  // Told of with the span's end: no step was run in between.
  assert.equal(own.blocks.numFree, 40);
  await own.close();
  assert.throws(() => own.blocks, { code: "ERR_STATE" });
});

test("a cache of some bytes has as many blocks as their bytes say", async () => {
  for (const dtype of ["float32", "bfloat16"] as const) {
    await using small = await tinyModel({ dtype });
    for (const blockTokens of [16, 64]) {
      await using bounded = await Engine.open(small, { cacheBytes: 1e6, blockTokens, maxBatchSequences: 64 });
      const { numBlocks } = await bounded.stats();
      assert.equal(numBlocks, Math.floor(1e6 / bounded.blockBytes), `${dtype} ${blockTokens}`);
      assert.deepEqual([bounded.maxBatchSequences, bounded.model], [64, small]);
    }
  }
});
