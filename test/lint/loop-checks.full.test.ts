/** Each check of rollouts, log-probabilities and batches fails on a fault made for it, and no other check does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lint } from "../../apps/lint/lint.ts";
import type { LintRollout } from "../../apps/lint/subject.ts";
import { writtenSource } from "../../apps/lint/written.ts";
import { Model } from "../../lib/model/model.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import type { Reward } from "../../lib/reward/reward.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";
import { policySequence } from "../../lib/train/batch/sequence.ts";
import { scoreSequences } from "../../lib/train/learner/trainer.ts";
import { assertFails, failuresOf, model, subjectOf } from "./world-subject.ts";

const small = { maxResponseTokens: 64, maxObservationTokens: 64, maxTokens: 1024 };

test("loss spans that are shifted, too long or too short are noticed", async () => {
  const subject = await subjectOf();
  const withRows = (change: (rows: Int32Array, tokens: Int32Array) => Int32Array) => ({
    ...subject,
    toSequences: (trajectory: Parameters<typeof policySequence>[0]): TrainSequence[] => {
      const { tokens, rows } = policySequence(trajectory);
      return [{ tokens, rows: change(rows, tokens) }];
    },
    // Without the rollout's numbers there is nothing to compare them with.
    score: async (sequences: readonly TrainSequence[]) => (await scoreSequences(model, sequences)).logprobs,
  });
  const spans = async (subjectToLint: ReturnType<typeof withRows>): Promise<string> => {
    const failures = await failuresOf(subjectToLint);
    return failures.find(({ check }) => check.includes("loss spans"))?.evidence ?? "";
  };
  const shifted = await spans(withRows((rows) => rows.map((row) => row - 1)));
  assert.match(shifted, /^free: token 26, .* is trained and was not sampled/);
  const all = await spans(
    withRows((_, tokens) => Int32Array.from({ length: tokens.length - 1 }, (__, i) => i)),
  );
  assert.match(all, /^free: token 1, .* is trained and was not sampled/);
  const short = withRows((rows) => rows.subarray(0, -1));
  assert.match(await spans(short), /was sampled and is not trained/);
  const end = (await failuresOf(short)).find(({ check }) => check.includes("end of a turn"));
  assert.match(end?.evidence ?? "", /^1 <\|end\|> ended the turn and is not trained/);
});

test("a trainer with other weights than the generator is noticed", async () => {
  const other = await Model.create(model.config, { seed: 3 });
  await assertFails({ ...(await subjectOf()), model: other }, [
    [/log-probabilities/, /^largest gap .*; expected at most 0\.00001/],
  ]);
  other.close();
});

test("packing that lets one sequence read another is noticed", async () => {
  const subject = await subjectOf();
  const joined = async (sequences: readonly TrainSequence[], options: { readonly maxTokens: number }) => {
    if (options.maxTokens === 1) return (await scoreSequences(model, sequences)).logprobs;
    const tokens = Int32Array.from(sequences.flatMap((each) => [...each.tokens]));
    let start = 0;
    const rows = sequences.flatMap((each) => {
      const own = [...each.rows].map((row) => row + start);
      start += each.tokens.length;
      return own;
    });
    const [scores] = (await scoreSequences(model, [{ tokens, rows: Int32Array.from(rows) }])).logprobs;
    let taken = 0;
    return sequences.map((each) => {
      taken += each.rows.length;
      return scores!.slice(taken - each.rows.length, taken);
    });
  };
  await assertFails({ ...subject, score: joined }, [[/packing/, /a log-probability moves by/]]);
});

test("a trajectory that is cut into rows which overlap is noticed", async () => {
  const subject = await subjectOf();
  const toSequences = (trajectory: Parameters<typeof policySequence>[0]): TrainSequence[] => {
    const sequence = policySequence(trajectory);
    return [sequence, sequence];
  };
  await assertFails({ ...subject, toSequences }, [
    [/what was sampled, id for id/, /expected \d+ trained ids, got \d+/],
    [/loss spans/, /is trained and was not sampled/],
    [/packing/, /sampled tokens became/],
  ]);
});

test("turns that may fill a conversation share its tokens, and still need room", async () => {
  const room = async (maxPosition: number, faithful: boolean) => {
    const weights = await Model.create({ ...model.config, maxPosition, contextTokens: maxPosition });
    const { findings } = await lint(await subjectOf({ recipe: reSearch({ faithful }), weights }));
    return findings.find(({ check }) => check.includes("room"));
  };
  const [whole, original, tight] = [
    await room(16_384, false),
    await room(16_384, true),
    await room(2048, false),
  ];
  assert.match(`${whole?.status}: ${whole?.evidence}`, /^pass: .*short turns: 8192 .* of 9 rounds fit/);
  assert.match(`${original?.status}: ${original?.evidence}`, /^pass: .* rounds fit/);
  assert.match(`${tight?.status}: ${tight?.evidence}`, /^fail: .* the recipe allows 8704, the model 2048/);
});

test("a turn that the context cuts off is not taken for one that ended", async () => {
  const { parts, tokenizer } = await subjectOf();
  const source = writtenSource(parts.engine, tokenizer, [{ text: "<answer> why </answer>" }]);
  const sequence = await source.open(new Int32Array([2]), { seed: 0 });
  const { ids, stop } = await sequence.generate({ maxTokens: 3, stop: ["</answer>"], temperature: 1 });
  assert.deepEqual([ids.length, stop], [3, "length"]);
  await sequence.close();
});

test("limits without room for a search and an answer are noticed", async () => {
  const failures = await failuresOf(await subjectOf({ recipe: ragR1({ queries: "multi" }) }));
  const limits = failures.find(({ check }) => check.startsWith("the context"));
  assert.match(limits?.evidence ?? "", /: \d+ tokens, the recipe allows 8192, the model 1024/);
});

test("an observation whose marks become special tokens is noticed", async () => {
  const subject = await subjectOf();
  const { tokenizer } = subject;
  const codec = {
    encode: (text: string) => tokenizer.encode(text),
    decode: (ids: Int32Array) => tokenizer.decode(ids),
  };
  await assertFails({ ...subject, parts: { ...subject.parts, tokenizer: codec } }, [
    [/observations/, /a passage that spells them became .*1 <\|end\|>/],
  ]);
});

test("a reward that reads what others wrote is noticed", async () => {
  const subject = await subjectOf();
  const reward: Reward = ({ segments }, { answers }) => {
    const all = segments.map(({ text }) => text).join("");
    return answers.some((answer) => all.includes(`<answer> ${answer} </answer>`)) ? 1 : 0;
  };
  await assertFails({ ...subject, reward }, [[/not scored/, /"planted" in a passage earns 1, expected 0/]]);
  const { format, limits } = ragR1({ queries: "single" });
  const parts = { ...subject.parts, format, limits: { ...limits, ...small } };
  await assertFails({ ...subject, parts, reward }, [
    [/not scored/, /"and" in the prompt earns 1, expected 0 \(and 2 more\)/],
  ]);
});

test("a search that hangs or throws is noticed", async () => {
  const subject = await subjectOf();
  const limits = { ...subject.parts.limits, searchTimeoutMs: 50 };
  const hangs = { ...subject.parts, limits, search: () => new Promise<never>(() => {}) };
  await assertFails({ ...subject, parts: hangs }, [[/search answers/, /no answer within 50 ms/]]);
  const throws = { ...subject.parts, search: () => Promise.reject(new Error("no such index")) };
  await assertFails({ ...subject, parts: throws }, [[/search answers/, /no such index/]]);
});

test("an agent that waits for its search beyond the deadline is noticed", async () => {
  const subject = await subjectOf();
  const patient: LintRollout = (parts, question, options) =>
    searchAgent({ ...parts, limits: { ...parts.limits, searchTimeoutMs: 4_000 } }).rollouts(
      question,
      options,
    );
  await assertFails({ ...subject, rollout: patient }, [
    [/hangs/, /still waiting 3200 ms after a deadline of 200 ms/],
  ]);
});
