/** Training on what was visible: laws 3 and 4 where the context was cut. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Engine } from "../../../lib/engine/engine.ts";
import type { Model } from "../../../lib/model/model.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { stackParser, stackTurnEnds } from "../../../lib/rollout/grammars/stack-grammar.ts";
import { defaultMemory } from "../../../lib/rollout/memory.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { gae, whiten } from "../../../lib/train/algorithm/advantage.ts";
import {
  type Aggregation,
  type Algorithm,
  aggregate,
  algorithms,
} from "../../../lib/train/algorithm/algorithm.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import { policySequence, sftSequence, type TrainSegment } from "../../../lib/train/batch/sequence.ts";
import { toExperience } from "../../../lib/train/experience.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { type LossOptions, scoreSequences, Trainer } from "../../../lib/train/learner/trainer.ts";
import { rolloutMetrics, trajectoryRows } from "../../../lib/train/rl-metrics.ts";
import { update } from "../../../lib/train/update.ts";
import { recordedSearch } from "../../rollout/doubles.ts";
import { filled, maxDifference, noise, tinyModel, tinyVocab } from "../tiny.ts";

// Ids 0 to 5 are whole actions, so that even a random model plans, searches, takes back and sums up.
const kinds = ["plan", "reasoning", "search", "backtrack", "summary", "answer"];
const words = Array.from({ length: tinyVocab }, (_, id) =>
  id < 6 ? `<${kinds[id]}> ${id} </${kinds[id]}>` : "xyz"[id % 3]!,
);
const tokenizer = {
  vocabSize: tinyVocab,
  eosIds: [],
  tokenBytes: (id: number) => new TextEncoder().encode(words[id]),
  isSpecial: () => false,
  encode: (text: string) =>
    Int32Array.from({ length: 2 + (text.length % 3) }, (_, i) => 6 + ((text.length + i) % 30)),
  decode: (ids: Int32Array) => [...ids].map((id) => words[id]).join(""),
};

const memory = { ...defaultMemory, minActions: 9 };
const parts = {
  tokenizer,
  search: recordedSearch(),
  format: { ...ragFormat("single"), turnEnds: stackTurnEnds(), parse: stackParser(), memory },
  limits: {
    maxTurns: 12,
    maxResponseTokens: 9,
    maxObservationTokens: 9,
    maxTokens: 120,
    topK: 1,
    searchTimeoutMs: 1000,
  },
  sampling: {},
};

let model: Model;
let trajectories: readonly Trajectory[];

before(async () => {
  model = await tinyModel();
  await using engine = await Engine.open(model, { tokenizer, blockTokens: 4 });
  const play = (id: string) =>
    searchAgent({ ...parts, engine }).rollouts({ id, question: "?" }, { samples: 4, seed: 2 });
  trajectories = (await Promise.all(["a", "b", "c"].map(play))).flat();
});

after(() => model.close());

const tokenCount = ({ segments }: Trajectory): number =>
  segments.filter(({ kind }) => kind === "policy").reduce((sum, { tokens }) => sum + tokens.length, 0);

/** A policy segment alone, in its context: the truth that spans are held against. */
function apart({ segments }: Pick<Trajectory, "segments">): TrainSequence[] {
  return segments.flatMap(({ kind, visible, tokens, logprobs }, i) => {
    if (kind !== "policy") return [];
    const context = (visible ?? segments.map((_, j) => j).slice(0, i)).flatMap((j) => [
      ...segments[j]!.tokens,
    ]);
    const rows = Int32Array.from(tokens, (_, t) => context.length + t - 1);
    return [{ tokens: Int32Array.from([...context, ...tokens]), rows, rolloutLogprobs: logprobs! }];
  });
}

const flat = (arrays: readonly ArrayLike<number>[]): number[] =>
  arrays.flatMap((values) => Array.from(values));

test("the rollouts of these tests pop, plan again and grow past what they show", () => {
  const actions = trajectories.flatMap(({ memory }) => memory!.actions);
  for (const kind of kinds)
    assert.ok(
      actions.some((action) => action.kind === kind),
      kind,
    );
  assert.ok(actions.filter(({ popped }) => popped > 0).length > 20);
  assert.ok(actions.some(({ popped }) => popped > 1));
  assert.ok(trajectories.some(({ memory }) => memory!.peakTokens < memory!.totalTokens / 2));
});

test("each sampled token is trained once, behind just what was visible when it was sampled", () => {
  for (const trajectory of trajectories) {
    const { tokens, starts = [0], rows, rolloutLogprobs } = policySequence(trajectory);
    assert.equal(rows.length, tokenCount(trajectory));
    const start = (row: number) => [...starts].findLast((begin) => begin <= row)!;
    const ours = [...rows].map((row) => [...tokens.slice(start(row), row + 2)]);
    const truth = apart(trajectory).flatMap((alone) =>
      [...alone.rows].map((row) => [...alone.tokens.slice(0, row + 2)]),
    );
    assert.deepEqual(ours, truth);
    assert.deepEqual([...rolloutLogprobs!], flat(apart(trajectory).map((alone) => alone.rolloutLogprobs!)));
  }
});

test("the trainer's log-probabilities are the rollout's bit for bit, whatever was forgotten (law 4)", async () => {
  await using trainer = await Trainer.open(model);
  const sequences = trajectories.map((trajectory) => policySequence(trajectory));
  for (const maxTokens of [64, 4096]) {
    const logprobs = await trainer.logprobs(sequences, { maxTokens });
    assert.deepEqual(
      logprobs,
      sequences.map(({ rolloutLogprobs }) => rolloutLogprobs),
    );
  }
  await using critic = await Critic.open(model);
  const learners = { trainer, critic, reference: model };
  const rewarded = trajectories.map((trajectory, i) => ({ trajectory, reward: i % 2, group: 0 }));
  const { gap } = await toExperience(rewarded, learners, algorithms.ppo, {});
  assert.deepEqual(gap, { mean: 0, max: 0 });
});

test("without a pop, saying what was visible changes nothing: the same arrays, so the same gradient bytes", () => {
  const plain: TrainSegment[] = [
    { kind: "prompt", tokens: Int32Array.of(1, 2, 3) },
    { kind: "policy", tokens: Int32Array.of(4, 5), logprobs: Float32Array.of(-1, -2) },
    { kind: "observation", tokens: Int32Array.of(6, 7) },
    { kind: "policy", tokens: Int32Array.of(9), logprobs: Float32Array.of(-3) },
  ];
  const said = plain.map((segment, i) =>
    segment.kind === "policy" ? { ...segment, visible: plain.map((_, j) => j).slice(0, i) } : segment,
  );
  const expected = {
    tokens: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 9),
    rows: Int32Array.of(2, 3, 6),
    rolloutLogprobs: Float32Array.of(-1, -2, -3),
    starts: undefined,
  };
  assert.deepEqual(policySequence({ segments: plain }), expected);
  assert.deepEqual(policySequence({ segments: said }), expected);
});

const losses: Record<string, LossOptions> = {
  likelihood: {},
  clipped: { objective: "clipped", entropyCoef: 0.01, kl: { estimator: "k3", coef: 0.1 } },
  "clipped-sequence": { objective: "clipped-sequence", clipLow: 0.01 },
};

/** Every array a loss may need; the old and reference policies are some way off. */
function withEverything(
  sequences: readonly TrainSequence[],
  aggregation: Aggregation = "token-mean",
): TrainSequence[] {
  return aggregate(
    sequences.map((sequence, i) => ({
      ...sequence,
      advantages: filled(sequence.rows.length, (r) => noise(i + 50, r) * 2 - 1),
      oldLogprobs: sequence.rolloutLogprobs!.map((value, r) => value + 0.6 * noise(i + 60, r) - 0.3),
      referenceLogprobs: sequence.rolloutLogprobs!.map((value, r) => value + noise(i + 70, r) - 0.5),
    })),
    aggregation,
  );
}

async function gradientOf(trainer: Trainer, sequences: readonly TrainSequence[], options: object) {
  await trainer.zeroGradients();
  const stats = await trainer.accumulate(sequences, options);
  return { stats, gradient: await trainer.gradient("model.embed_tokens.weight") };
}

test("loss and gradient are those of the turns one by one, each in its own context", async () => {
  await using trainer = await Trainer.open(model);
  const sequences = withEverything(trajectories.map((trajectory) => policySequence(trajectory)));
  const turns = trajectories.flatMap((trajectory, i) => {
    let row = 0;
    return apart(trajectory).map((alone) => {
      const cut = (values: Float32Array | undefined) => values!.slice(row, row + alone.rows.length);
      const { weights, advantages, oldLogprobs, referenceLogprobs } = sequences[i]!;
      const own = {
        ...alone,
        weights: cut(weights),
        advantages: cut(advantages),
        oldLogprobs: cut(oldLogprobs),
        referenceLogprobs: cut(referenceLogprobs),
      };
      row += alone.rows.length;
      return own;
    });
  });
  for (const name of ["likelihood", "clipped"]) {
    const whole = await gradientOf(trainer, sequences, losses[name]!);
    const single = await gradientOf(trainer, turns, losses[name]!);
    assert.equal(whole.stats.numRows, single.stats.numRows);
    assert.ok(Math.abs(whole.stats.loss - single.stats.loss) < 1e-6);
    assert.ok(maxDifference(whole.gradient, single.gradient) < 1e-6);
    assert.ok(maxDifference(whole.gradient, new Float32Array(whole.gradient.length)) > 1e-3);
  }
});

test("loss and gradient do not depend on how spans are cut into micro-batches", async () => {
  await using trainer = await Trainer.open(model);
  const sequences = withEverything(trajectories.map((trajectory) => policySequence(trajectory)));
  for (const options of Object.values(losses)) {
    const whole = await gradientOf(trainer, sequences, { ...options, maxTokens: 100_000 });
    for (const maxTokens of [1, 90]) {
      const cut = await gradientOf(trainer, [...sequences].reverse(), { ...options, maxTokens });
      assert.ok(Math.abs(cut.stats.loss - whole.stats.loss) < 1e-6);
      assert.ok(maxDifference(cut.gradient, whole.gradient) < 1e-6);
    }
  }
});

test("every aggregation and ratio is that of whole trajectories, in float64", async () => {
  await using trainer = await Trainer.open(model);
  const plain = trajectories.map((trajectory) => policySequence(trajectory));
  const [clipLow, clipHigh] = [0.2, 0.2];
  const clipped = (ratio: number, advantage: number) =>
    -Math.min(ratio * advantage, Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh) * advantage);
  for (const aggregation of ["token-mean", "sequence-mean", { tokensPerSequence: 30 }] as const) {
    const sequences = withEverything(plain, aggregation);
    const numRows = sequences.reduce((sum, { rows }) => sum + rows.length, 0);
    for (const objective of ["clipped", "clipped-sequence"] as const) {
      let expected = 0;
      for (const { rows, rolloutLogprobs, oldLogprobs, advantages } of sequences) {
        const distances = [...rolloutLogprobs!].map((value, r) => value - oldLogprobs![r]!);
        const average = distances.reduce((sum, value) => sum + value, 0) / rows.length;
        const losses = distances.map((distance, r) =>
          clipped(Math.exp(objective === "clipped" ? distance : average), advantages![r]!),
        );
        const sum = losses.reduce((total, value) => total + value, 0);
        const share =
          aggregation === "token-mean"
            ? 1 / numRows
            : aggregation === "sequence-mean"
              ? 1 / (rows.length * sequences.length)
              : 1 / (30 * sequences.length);
        expected += share * sum;
      }
      const { policy } = await trainer.accumulate(sequences, { objective, clipLow, clipHigh });
      assert.ok(Math.abs(policy - expected) < 1e-6, `${objective}: ${policy}, not ${expected}`);
    }
  }
});

test("GAE and whitening run over a trajectory's tokens in order, whatever was visible", async () => {
  await using trainer = await Trainer.open(model);
  await using critic = await Critic.open(model);
  const algorithm: Algorithm = { advantage: "gae", gamma: 0.95, lambda: 0.9 };
  const rewarded = trajectories.map((trajectory, i) => ({ trajectory, reward: i % 3, group: 0 }));
  const first = await toExperience(rewarded, { trainer, critic }, algorithm, { maxTokens: 70 });
  // A head that has learnt says something: its values differ from token to token.
  await critic.accumulate(aggregate(first.sequences), { clip: 0 });
  await critic.step({ learningRate: 0.05 });
  const { sequences } = await toExperience(rewarded, { trainer, critic }, algorithm, { maxTokens: 70 });
  const values = await Promise.all(
    trajectories.map(async (trajectory) => flat(await critic.values(apart(trajectory)))),
  );
  assert.ok(new Set(values.flat()).size > 50);
  const expected = whiten(
    values.map((own, i) => {
      const rewards = own.map((_, t) => (t === own.length - 1 ? i % 3 : 0));
      return gae(rewards, own, { gamma: 0.95, lambda: 0.9 }).advantages;
    }),
  );
  for (const [i, { advantages, oldValues }] of sequences.entries()) {
    assert.ok(maxDifference(oldValues!, Float32Array.from(values[i]!)) < 1e-6);
    assert.ok(maxDifference(advantages!, Float32Array.from(expected[i]!)) < 1e-6);
  }
});

test("advantages of groups do not see spans, and token rewards follow the order of the tokens", async () => {
  await using trainer = await Trainer.open(model);
  const tokenRewards = trajectories.map((one) =>
    Float64Array.from({ length: tokenCount(one) }, (_, t) => t / 10),
  );
  const experience = (segmentsOf: (one: Trajectory) => Trajectory["segments"]) => {
    const rewarded = trajectories.map((one, i) => ({
      trajectory: { segments: segmentsOf(one) },
      reward: i,
      tokenRewards: tokenRewards[i]!,
      group: i % 4,
    }));
    return toExperience(rewarded, { trainer }, { advantage: "reinforce++-baseline" }, {});
  };
  const cut = await experience(({ segments }) => segments);
  const uncut = await experience(({ segments }) => segments.map(({ visible: _, ...segment }) => segment));
  assert.deepEqual(
    cut.sequences.map(({ advantages }) => advantages),
    uncut.sequences.map(({ advantages }) => advantages),
  );
});

test("an update on trajectories that forgot reports a gap of zero and moves the weights", async () => {
  await using own = await tinyModel();
  await using trainer = await Trainer.open(own);
  const rewarded = trajectories.map((trajectory, i) => ({ trajectory, reward: i % 2, group: 0 }));
  const batch = { maxTokens: 80 };
  const experience = await toExperience(rewarded, { trainer }, algorithms.gspo, batch);
  const metrics = await update(experience, { trainer }, algorithms.gspo, batch, {
    policy: 1e-3,
    critic: 0,
    seed: 1,
  });
  assert.equal(metrics["logprob_gap/max"], 0);
  assert.ok(metrics.grad_norm > 0);
});

test("the log of a step says what the stacks did, and what was visible", () => {
  const question = { id: "a", question: "?", answers: ["x"] };
  const played = trajectories.map((trajectory) => ({ trajectory, question, reward: 0, group: 0 }));
  const metrics = rolloutMetrics(played);
  const actions = trajectories.flatMap(({ memory }) => memory!.actions);
  const backtracks = actions.filter(({ kind }) => kind === "backtrack").length;
  assert.equal(metrics["memory/actions/backtrack"], backtracks / trajectories.length);
  const pops = actions.reduce((sum, { popped }) => sum + popped, 0);
  assert.equal(metrics["memory/pops"], pops / trajectories.length);
  assert.ok(metrics["memory/visible_tokens"]! < metrics["memory/said_tokens"]!);
  const demoted = actions.filter(({ isDemoted }) => isDemoted).length;
  assert.equal(metrics["memory/demoted"], demoted / trajectories.length);
  assert.ok(!("reward/tokens" in metrics));
  const paid = played.map((one, i) => ({ ...one, reward: 1, tokenRewards: [-0.25 * i, -0.5] }));
  const { "reward/mean": whole, "reward/tokens": lost } = rolloutMetrics(paid);
  assert.deepEqual([whole, lost], [1, -0.5 - (0.25 * (paid.length - 1)) / 2]);
  const [row] = trajectoryRows(1, played, 0) as [Pick<Trajectory, "memory" | "segments">];
  assert.deepEqual(row.memory, trajectories[0]!.memory);
  assert.deepEqual(
    row.segments.map(({ visible }) => visible),
    trajectories[0]!.segments.map(({ visible }) => visible),
  );
});

test("entropies and log-probabilities of a reference come back in the order of the tokens", async () => {
  const sequences = trajectories.map((trajectory) => policySequence(trajectory));
  const scores = await scoreSequences(model, sequences, { maxTokens: 50 });
  for (const [i, trajectory] of trajectories.entries()) {
    const alone = await scoreSequences(model, apart(trajectory));
    assert.deepEqual([...scores.logprobs[i]!], flat(alone.logprobs));
    assert.deepEqual([...scores.entropies[i]!], flat(alone.entropies));
  }
});

test("a demonstration may forget too: each token has its weight once, the policy's in its own context", () => {
  const segments: TrainSegment[] = [
    { kind: "prompt", tokens: Int32Array.of(1, 2) },
    { kind: "policy", tokens: Int32Array.of(3) },
    { kind: "observation", tokens: Int32Array.of(4) },
    { kind: "policy", tokens: Int32Array.of(5) },
    { kind: "policy", tokens: Int32Array.of(6), visible: [0, 3] },
  ];
  const only = sftSequence(segments);
  assert.deepEqual([...only.tokens], [1, 2, 3, 4, 5, 1, 2, 5, 6]);
  assert.deepEqual([...only.starts!], [0, 5]);
  assert.deepEqual([...only.rows], [1, 3, 7]);
  const all = sftSequence(segments, { otherWeight: 0.5 });
  assert.deepEqual([...all.rows], [0, 1, 2, 3, 7]);
  assert.deepEqual([...all.weights!], [0.5, 1, 0.5, 1, 1]);
});
