/** Tokens are drawn from the distribution that was asked for. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { GenerateOptions } from "../../lib/engine/span.ts";
import type { Model } from "../../lib/model/model.ts";
import { prompt, tinyModel } from "./models.ts";

const start = prompt(12);
const numDraws = 1500;
let model: Model;
let engine: Engine;
/** Natural log of the probability of each token after `start`. */
let logprobs: number[];

before(async () => {
  model = await tinyModel();
  engine = await Engine.open(model);
  logprobs = await Promise.all(
    Array.from({ length: 97 }, async (_, id) =>
      Number((await model.scoreLogprobs(Int32Array.from([...start, id]))).at(-1)),
    ),
  );
});

after(async () => {
  await engine.close();
  model.close();
});

/** One token after `start` for each of many seeds, with its log-probability. */
async function draws(
  options: Omit<GenerateOptions, "maxTokens">,
): Promise<{ id: number; logprob: number }[]> {
  const root = engine.open(start);
  const drawn = await Promise.all(
    Array.from({ length: numDraws }, async (_, seed) => {
      const fork = root.fork({ seed });
      const { ids, logprobs } = await fork.generate({ ...options, maxTokens: 1 });
      fork.close();
      return { id: ids[0]!, logprob: logprobs[0]! };
    }),
  );
  root.close();
  return drawn;
}

function softmax(temperature: number): number[] {
  const weights = logprobs.map((value) => Math.exp(value / temperature));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** The tokens from the likeliest on. */
function ranked(): number[] {
  return logprobs.map((_, id) => id).sort((a, b) => logprobs[b]! - logprobs[a]!);
}

/** Pearson's statistic less its degrees of freedom, in standard deviations; rare tokens share a bin. */
function chiSquareZ(ids: readonly number[], probabilities: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  const bins = new Map<string, { seen: number; expected: number }>();
  for (const [id, probability] of probabilities.entries()) {
    const name = probability * ids.length < 5 ? "rare" : String(id);
    const bin = bins.get(name) ?? { seen: 0, expected: 0 };
    bin.seen += counts.get(id) ?? 0;
    bin.expected += probability * ids.length;
    bins.set(name, bin);
  }
  const used = [...bins.values()].filter(({ expected }) => expected > 0);
  const statistic = used.reduce((sum, { seen, expected }) => sum + (seen - expected) ** 2 / expected, 0);
  const freedom = used.length - 1;
  return (statistic - freedom) / Math.sqrt(2 * freedom);
}

test("draws follow softmax(logits / temperature)", async () => {
  for (const temperature of [1, 0.6, 2.5]) {
    const drawn = await draws({ temperature });
    const z = chiSquareZ(
      drawn.map(({ id }) => id),
      softmax(temperature),
    );
    assert.ok(Math.abs(z) < 4, `temperature ${temperature}: z = ${z}`);
  }
});

test("log-probabilities are those of the temperature-scaled distribution before truncation", async () => {
  for (const options of [
    { temperature: 0.6 },
    { temperature: 2.5, topK: 4 },
    { temperature: 0.6, topP: 0.5 },
  ]) {
    const probabilities = softmax(options.temperature);
    for (const { id, logprob } of await draws(options)) {
      assert.ok(Math.abs(logprob - Math.log(probabilities[id]!)) < 1e-5);
    }
  }
});

test("topK draws among exactly the likeliest tokens, in proportion", async () => {
  const drawn = (await draws({ topK: 5 })).map(({ id }) => id);
  const allowed = ranked().slice(0, 5);
  assert.deepEqual([...new Set(drawn)].sort(), [...allowed].sort());
  const full = softmax(1);
  const total = allowed.reduce((sum, id) => sum + full[id]!, 0);
  const z = chiSquareZ(
    drawn,
    full.map((value, id) => (allowed.includes(id) ? value / total : 0)),
  );
  assert.ok(Math.abs(z) < 4, `z = ${z}`);
});

test("topP draws among the fewest likeliest tokens that reach it", async () => {
  const full = softmax(1);
  for (const topP of [0.3, 0.7]) {
    let mass = 0;
    const allowed: number[] = [];
    for (const id of ranked()) {
      if (mass >= topP) break;
      allowed.push(id);
      mass += full[id]!;
    }
    const drawn = (await draws({ topP })).map(({ id }) => id);
    assert.deepEqual([...new Set(drawn)].sort(), [...allowed].sort());
    const z = chiSquareZ(
      drawn,
      full.map((value, id) => (allowed.includes(id) ? value / mass : 0)),
    );
    assert.ok(Math.abs(z) < 4, `z = ${z}`);
  }
});

test("topP counts its share of what topK left", async () => {
  const [first, second] = ranked();
  const full = softmax(1);
  const share = full[first!]! / (full[first!]! + full[second!]!);
  const narrow = await draws({ topK: 2, topP: share - 0.01 });
  assert.deepEqual(new Set(narrow.map(({ id }) => id)), new Set([first]));
  const wide = await draws({ topK: 2, topP: share + 0.01 });
  assert.deepEqual(new Set(wide.map(({ id }) => id)), new Set([first, second]));
});

test("topK of one and a tiny topP are greedy", async () => {
  const [first] = ranked();
  for (const options of [{ topK: 1 }, { topP: 1e-9 }]) {
    for (const { id } of await draws(options)) assert.equal(id, first);
  }
});

test("the same seed draws the same tokens, another seed others", async () => {
  const spans = await Promise.all(
    [7, 7, 8].map((seed) => engine.open(start, { seed }).generate({ maxTokens: 30 })),
  );
  assert.deepEqual(spans[0], spans[1]);
  assert.notDeepEqual(spans[0]?.ids, spans[2]?.ids);
});
