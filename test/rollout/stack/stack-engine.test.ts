/** The memory stack on the real engine with a small random model: what it holds, what it values, that it repeats. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { native } from "../../../lib/base/addon/native.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { Model } from "../../../lib/model/model.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { stackParser, stackTurnEnds } from "../../../lib/rollout/grammars/stack-grammar.ts";
import { defaultMemory, type Memory } from "../../../lib/rollout/memory.ts";
import type { SequenceSource } from "../../../lib/rollout/seams.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { recordedSearch } from "../doubles.ts";

await native().setNumThreads(1);

// Ids 0 to 5 open, 6 to 11 close actions; a tag and what follows it share a token, as they may in a real vocabulary.
const kinds = ["plan", "reasoning", "search", "backtrack", "summary", "answer"];
const words = [...kinds.map((kind) => `<${kind}> a`), ...kinds.map((kind) => `b </${kind}>\n`), ..."uv"];
const bytes = words.map((word) => new TextEncoder().encode(word));
const tokenizer = {
  vocabSize: words.length,
  eosIds: [],
  tokenBytes: (id: number) => bytes[id] ?? new Uint8Array(),
  isSpecial: () => false,
  encode: (text: string) => Int32Array.from({ length: 1 + (text.length % 7) }, (_, i) => 12 + (i % 2)),
  decode: (ids: Int32Array) => [...ids].map((id) => words[id]).join(""),
};

const shape = {
  vocabSize: words.length,
  hiddenSize: 16,
  intermediateSize: 32,
  numLayers: 2,
  numHeads: 2,
  maxPosition: 400,
};
const model = await Model.create(shape, { seed: 5, std: 0.1 });
const engine = await Engine.open(model, { tokenizer, blockTokens: 8 });
after(async () => {
  await engine.close();
  model.close();
});

function partsWith(memory: Partial<Memory>, source: SequenceSource = engine) {
  const limits = {
    maxTurns: 14,
    maxResponseTokens: 20,
    maxObservationTokens: 9,
    maxTokens: 300,
    topK: 1,
    searchTimeoutMs: 1000,
  };
  const format = {
    ...ragFormat("single"),
    turnEnds: stackTurnEnds(),
    parse: stackParser(),
    memory: { ...defaultMemory, ...memory },
  };
  return { tokenizer, search: recordedSearch(), format, limits, sampling: {}, engine: source };
}

const question = { id: "q", question: "who?" };

function visibleTokens({ segments }: Trajectory, i: number): number[] {
  const visible = segments[i]!.visible ?? segments.map((_, j) => j).slice(0, i);
  return visible.flatMap((j) => [...segments[j]!.tokens]);
}

test("the engine's sequence holds at every turn just the tokens that are recorded as visible", async () => {
  const held: number[][] = [];
  const watched: SequenceSource = {
    open: (ids, options) => {
      const sequence = engine.open(ids, options);
      const { generate } = sequence;
      sequence.generate = (request) => {
        held.push([...sequence.tokens]);
        return generate.call(sequence, request);
      };
      return sequence;
    },
  };
  let pops = 0;
  for (let seed = 0; seed < 20; seed += 1) {
    held.length = 0;
    const [trajectory] = await searchAgent(partsWith({ minActions: 9 }, watched)).rollouts(question, {
      seed,
    });
    const policy = trajectory!.segments.flatMap(({ kind }, i) => (kind === "policy" ? [i] : []));
    assert.deepEqual(
      held,
      policy.map((i) => visibleTokens(trajectory!, i)),
    );
    pops += trajectory!.memory!.actions.reduce((sum, { popped }) => sum + popped, 0);
  }
  assert.ok(pops > 20, `${pops} pops`);
});

test("values are the mean entropy of the tokens behind the opening tag, and the perplexity of an answer alone", async () => {
  let values = 0;
  for (const stateValue of ["entropy", "cppl"] as const) {
    const group = await searchAgent(partsWith({ stateValue, sigma: 0 })).rollouts(question, {
      samples: 24,
      seed: 3,
    });
    for (const trajectory of group) {
      for (const { segment, kind, value } of trajectory.memory!.actions) {
        if (value === undefined) continue;
        const { tokens } = trajectory.segments[segment]!;
        const first = tokens.indexOf(kinds.indexOf(kind));
        // Where the truth comes from: a whole forward over what stood there, token by token.
        const before =
          stateValue === "entropy" ? visibleTokens(trajectory, segment) : [...trajectory.segments[0]!.tokens];
        let sum = 0;
        for (let t = first; t < tokens.length; t += 1) {
          const context = [...before, ...tokens.slice(0, t)];
          sum +=
            stateValue === "entropy"
              ? await entropyAfter(context)
              : -(await logprobAfter(context, tokens[t]!));
        }
        const mean = sum / (tokens.length - first);
        const expected = stateValue === "entropy" ? mean : Math.exp(mean);
        assert.ok(Math.abs(value / expected - 1) < 1e-4, `${stateValue}: ${value}, not ${expected}`);
        values += 1;
      }
    }
  }
  assert.ok(values > 10, `${values} values`);
});

async function logprobAfter(context: readonly number[], id: number): Promise<number> {
  return (await model.scoreLogprobs(Int32Array.from([...context, id]))).at(-1)!;
}

async function entropyAfter(context: readonly number[]): Promise<number> {
  const logprobs = await Promise.all(words.map((_, id) => logprobAfter(context, id)));
  return logprobs.reduce((sum, logprob) => sum - Math.exp(logprob) * logprob, 0);
}

test("the same seed gives the same group, whatever else runs and however small the cache", async () => {
  const same = (group: readonly Trajectory[]) =>
    group.map(({ id, stop, memory, segments }) => {
      return { id, stop, memory, segments: segments.map(({ tokens, visible }) => ({ tokens, visible })) };
    });
  const memory = { minActions: 6 };
  const alone = same(await searchAgent(partsWith(memory)).rollouts(question, { samples: 4, seed: 9 }));
  await using small = await Engine.open(model, { tokenizer, blockTokens: 4, numBlocks: 100 });
  const [together] = await Promise.all([
    searchAgent(partsWith(memory, small)).rollouts(question, { samples: 4, seed: 9 }),
    searchAgent(partsWith(memory, small)).rollouts({ ...question, id: "other" }, { samples: 8, seed: 9 }),
  ]);
  assert.deepEqual(same(together), alone);
  assert.ok((await small.stats()).numPreemptions > 0);
  assert.equal((await small.stats()).numUsedBlocks, 0);
});
