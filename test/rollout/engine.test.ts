/** Rollouts on the real engine with a small random model: laws 1 and 4, seeds, shared prompts. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import type { Sequence } from "../../lib/engine/sequence.ts";
import { Model } from "../../lib/model/model.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../lib/rollout/formats/format.ts";
import type { SequenceSource } from "../../lib/rollout/seams.ts";
import { type Trajectory, trajectoryTokens } from "../../lib/rollout/trajectory.ts";
import { recordedSearch } from "./doubles.ts";
import { trainableTokens, trajectoryLogprobs } from "./stack/flat.ts";

await native().setNumThreads(1);

// Ids 0 to 3 are whole tags, so that even a random model acts now and then; id 4 ends the turn.
const words = ["<search>", " a </search>!", "<answer>", " b </answer>", "<end>", "x", "y ", "é"];
const bytes = words.map((word) => new TextEncoder().encode(word));
const tokenizer = {
  vocabSize: words.length,
  eosIds: [4],
  tokenBytes: (id: number) => bytes[id] ?? new Uint8Array(),
  isSpecial: () => false,
  encode: (text: string) =>
    Int32Array.from({ length: Math.min(9, 1 + (text.length % 9)) }, (_, i) => 5 + (i % 3)),
  decode: (ids: Int32Array) => [...ids].map((id) => words[id]).join(""),
};

const shape = {
  vocabSize: 8,
  hiddenSize: 16,
  intermediateSize: 32,
  numLayers: 2,
  numHeads: 2,
  maxPosition: 256,
};
const model = await Model.create(shape, { seed: 3, std: 0.3 });
const engine = await Engine.open(model, { tokenizer });
after(async () => {
  await engine.close();
  model.close();
});

const limits = {
  maxTurns: 4,
  maxResponseTokens: 24,
  maxObservationTokens: 9,
  maxTokens: 200,
  topK: 1,
  searchTimeoutMs: 1000,
};
const parts = { tokenizer, search: recordedSearch(), format: ragFormat("single"), limits, sampling: {} };
const question = { id: "q", question: "who?" };

function same(trajectories: readonly Trajectory[]) {
  return trajectories.map(({ id, stop, segments }) => ({
    id,
    stop,
    tokens: segments.map(({ tokens }) => [...tokens]),
  }));
}

test("the recorded tokens are those in the engine's cache, byte for byte", async () => {
  const opened: Sequence[] = [];
  const atClose: Int32Array[] = [];
  const watched: SequenceSource = {
    open: (ids, options) => {
      const sequence = engine.open(ids, options);
      opened.push(sequence);
      const { close } = sequence;
      sequence.close = () => {
        atClose.push(sequence.tokens);
        close.call(sequence);
      };
      return sequence;
    },
  };
  for (let seed = 0; seed < 20; seed++) {
    const [trajectory] = await searchAgent({ ...parts, engine: watched }).rollouts(question, { seed });
    assert.ok(trajectory);
    assert.deepEqual(trajectoryTokens(trajectory), atClose.at(-1));
  }
});

test("log-probabilities at generation are those of a whole forward, on policy tokens and nowhere else", async () => {
  const group = await searchAgent({ ...parts, engine }).rollouts(question, { samples: 12, seed: 1 });
  const stops = new Set(group.map(({ stop }) => stop));
  assert.ok(stops.size >= 2, [...stops].join());
  assert.ok(group.some(({ segments }) => segments.some(({ kind }) => kind === "observation")));
  for (const trajectory of group) {
    const scored = await model.scoreLogprobs(trajectoryTokens(trajectory));
    const logprobs_T = trajectoryLogprobs(trajectory);
    trainableTokens(trajectory).forEach((isTrainable, t) => {
      if (isTrainable === 0) assert.equal(logprobs_T[t], 0);
      else assert.ok(Math.abs(scored[t]! - logprobs_T[t]!) < 1e-5, `${scored[t]} ${logprobs_T[t]}`);
    });
  }
});

test("the same seed gives the same group, whatever else runs", async () => {
  const alone = await searchAgent({ ...parts, engine }).rollouts(question, { samples: 4, seed: 9 });
  const [together] = await Promise.all([
    searchAgent({ ...parts, engine }).rollouts(question, { samples: 4, seed: 9 }),
    searchAgent({ ...parts, engine }).rollouts({ ...question, id: "other" }, { samples: 8, seed: 9 }),
  ]);
  assert.deepEqual(same(together), same(alone));
  const one = await searchAgent({ ...parts, engine }).rollouts(question, { samples: 1, seed: 9 });
  assert.deepEqual(same(one), same(alone.slice(0, 1)), "a sample does not depend on the size of its group");
  assert.equal((await engine.stats()).numSequences, 0);
});

test("a signal stops the engine in the middle of a turn", async () => {
  const abort = new AbortController();
  const interrupted: SequenceSource = {
    open: (ids, options) => {
      const sequence = engine.open(ids, options);
      const { generate } = sequence;
      sequence.generate = (request) => {
        const span = generate.call(sequence, request);
        abort.abort();
        return span;
      };
      return sequence;
    },
  };
  const [trajectory] = await searchAgent({ ...parts, engine: interrupted }).rollouts(question, {
    signal: abort.signal,
  });
  assert.equal(trajectory?.stop, "aborted");
  assert.equal(trajectory?.turns, 1);
});

test("a large group with a signal of its own warns of no leak", async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error): number => warnings.push(name);
  process.on("warning", note);
  const { signal } = new AbortController();
  await searchAgent({ ...parts, engine }).rollouts(question, { samples: 24, signal });
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  assert.deepEqual(warnings, []);
});
