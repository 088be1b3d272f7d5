/** Entropies of sampled tokens, and how likely given tokens are, against whole forwards and transformers. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { projectRoot } from "../project.ts";
import { generateOnce, prompt, sameSpans, tinyModel } from "./models.ts";

interface Reference {
  readonly ids: number[];
  readonly logprobs: number[];
  readonly entropies: number[];
}

let model: Model;
let engine: Engine;

before(async () => {
  model = await tinyModel();
  engine = await Engine.open(model, { blockTokens: 8, maxBatchTokens: 24 });
});

after(async () => {
  await engine.close();
  model.close();
});

/** -sum p log p in float64 over the 97 tokens that can follow, from a whole forward for each. */
async function entropyAfter(tokens: Int32Array): Promise<number> {
  const logprobs = await Promise.all(
    Array.from({ length: 97 }, (_, id) => model.scoreLogprobs(Int32Array.from([...tokens, id]))),
  );
  return logprobs.reduce((sum, all) => sum - Math.exp(all.at(-1)!) * all.at(-1)!, 0);
}

test("entropies are those of the whole distribution at temperature 1, however tokens are drawn", async () => {
  for (const options of [{}, { temperature: 0.5 }, { temperature: 0 }, { topK: 3, topP: 0.6 }]) {
    const span = await generateOnce(engine, prompt(9), {
      ...options,
      maxTokens: 4,
      entropies: true,
      seed: 2,
    });
    assert.equal(span.entropies?.length, span.ids.length);
    for (const [i, entropy] of span.entropies.entries()) {
      const expected = await entropyAfter(Int32Array.from([...prompt(9), ...span.ids.slice(0, i)]));
      assert.ok(Math.abs(entropy - expected) < 1e-5, `${entropy}, not ${expected}`);
    }
  }
});

test("entropies come only when asked for, and change nothing else", async () => {
  const plain = engine.open(prompt(9), { seed: 1 });
  const asked = engine.open(prompt(9), { seed: 1 });
  const [without, { entropies, ...rest }] = await Promise.all([
    plain.generate({ maxTokens: 12 }),
    asked.generate({ maxTokens: 12, entropies: true }),
  ]);
  assert.deepEqual({ ...rest, entropies: undefined }, without);
  assert.equal(entropies?.length, rest.ids.length);
  const chunks: number[] = [];
  const streamed = engine.open(prompt(9), { seed: 1 });
  for await (const chunk of streamed.stream({ maxTokens: 12, entropies: true })) {
    assert.equal(chunk.entropies?.length, chunk.ids.length);
    chunks.push(...(chunk.entropies ?? []));
  }
  assert.deepEqual(Float32Array.from(chunks), entropies);
  for (const each of [plain, asked, streamed]) each.close();
});

test("scores are the log-probabilities and entropies of transformers", async () => {
  for (const name of ["qwen2", "qwen3", "llama"]) {
    const folder = join(projectRoot, "test", "golden", "model", name);
    const reference = JSON.parse(readFileSync(join(folder, "reference.json"), "utf8")) as Reference;
    await using other = await Model.load(folder);
    await using own = await Engine.open(other, { maxBatchTokens: 31 });
    for (const start of [1, 40, 89]) {
      const sequence = own.open(reference.ids.slice(0, start));
      const { logprobs, entropies } = await sequence.score(reference.ids.slice(start));
      for (const [values, expected] of [
        [logprobs, reference.logprobs.slice(start - 1)],
        [entropies, reference.entropies.slice(start - 1)],
      ] as const) {
        assert.equal(values.length, expected.length);
        const gap = Math.max(...expected.map((value, i) => Math.abs(value - values[i]!)));
        assert.ok(gap < 1e-3, `${name} from ${start}: ${gap}`);
      }
    }
  }
});

test("scores are the sampled tokens' own log-probabilities and entropies bit for bit, and leave no trace", async () => {
  const sequence = engine.open(prompt(33), { seed: 4 });
  const twin = engine.open(prompt(33), { seed: 4 });
  const span = await sequence.generate({ maxTokens: 40, stopIds: [], entropies: true });
  const { logprobs, entropies } = await twin.score(span.ids);
  assert.deepEqual([logprobs, entropies], [span.logprobs, span.entropies]);
  assert.deepEqual(twin.tokens, prompt(33));
  assert.deepEqual(await sequence.score(span.ids, { after: 33 }), { logprobs, entropies });
  const later = { maxTokens: 10, stopIds: [] };
  twin.append(span.ids);
  sameSpans(await twin.generate(later), await sequence.generate(later));
  for (const each of [sequence, twin]) each.close();
  assert.equal((await engine.stats()).numUsedBlocks, 0);
});

test("scores do not depend on what else runs, nor on a cache too small for all", async () => {
  const cases = Array.from(
    { length: 12 },
    (_, i) => [prompt(5 + 3 * i, i), prompt(4 + 5 * i, i + 1)] as const,
  );
  const alone: unknown[] = [];
  for (const [before, given] of cases) {
    using sequence = engine.open(before);
    alone.push(await sequence.score(given));
  }
  await using small = await Engine.open(model, { blockTokens: 4, numBlocks: 30, maxBatchTokens: 19 });
  const sequences = cases.map(([before]) => small.open(before));
  const others = [1, 2, 3].map((salt) => small.open(prompt(20, salt)));
  const [together] = await Promise.all([
    Promise.all(sequences.map((sequence, i) => sequence.score(cases[i]![1]))),
    Promise.all(others.map((other) => other.generate({ maxTokens: 30, stopIds: [] }))),
  ]);
  assert.deepEqual(together, alone);
  assert.ok((await small.stats()).numPreemptions > 0);
  for (const each of [...sequences, ...others]) each.close();
  assert.equal((await small.stats()).numUsedBlocks, 0);
});

test("forks of a sequence that is scored, and scores of a fork, are right", async () => {
  const root = engine.open(prompt(30), { seed: 1 });
  const fork = root.fork({ seed: 1 });
  const [scores, span] = await Promise.all([root.score(prompt(9, 2)), fork.generate({ maxTokens: 9 })]);
  using other = engine.open(prompt(30));
  assert.deepEqual(scores, await other.score(prompt(9, 2)));
  sameSpans(span, await root.generate({ maxTokens: 9 }));
  root.close();
  fork.close();
});

test("a score is refused where it cannot be: states, ids, lengths", async () => {
  const sequence = engine.open(prompt(20));
  const empty = engine.open([]);
  await assert.rejects(empty.score([1]), { code: "ERR_RANGE" });
  assert.deepEqual(await sequence.score([]), { logprobs: new Float32Array(), entropies: new Float32Array() });
  await assert.rejects(sequence.score([97]), { code: "ERR_RANGE" });
  await assert.rejects(sequence.score([1], { after: 21 }), { code: "ERR_RANGE" });
  await assert.rejects(sequence.score(prompt(493)), { code: "ERR_RANGE" });
  const scores = sequence.score(prompt(492));
  await assert.rejects(sequence.score([1]), { code: "ERR_STATE" });
  assert.equal((await scores).logprobs.length, 492);
  const closing = sequence.score(prompt(400));
  sequence.close();
  await assert.rejects(closing, { code: "ERR_ABORTED" });
  await assert.rejects(sequence.score([1]), { code: "ERR_STATE" });
  empty.close();
  assert.equal((await engine.stats()).numUsedBlocks, 0);
});
