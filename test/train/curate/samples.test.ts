/** Trajectories cut into RAG-R1's four categories. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { demonstrations } from "../../../apps/world/teachers/demonstrations.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { r1SearcherFormat } from "../../../lib/rollout/formats/r1-searcher.ts";
import { balancedSamples, sftSamples, type WrittenSegment } from "../../../lib/train/curate/samples.ts";

const format = ragFormat("single");
const prompt: WrittenSegment = { kind: "prompt", text: "who?", tokens: [7] };
const says = (text: string): WrittenSegment => ({ kind: "policy", text });
const sees = (text: string): WrittenSegment => ({ kind: "observation", text });
const [search, answer] = [says("<search> x </search>"), says("<answer> y </answer>")];

test("every turn is one sample, and its category says what came before and what it does", () => {
  const cut = (...segments: WrittenSegment[]) =>
    sftSamples([prompt, ...segments], format).samples.map(({ category }) => category);
  assert.deepEqual(cut(answer), [1]);
  assert.deepEqual(cut(search, sees("found"), answer), [2, 3]);
  assert.deepEqual(cut(search, sees("found"), search, sees("more"), answer), [2, 4, 3]);
});

test("only the last turn of a sample is to be written; what is read keeps its kind, text and ids", () => {
  const { samples } = sftSamples([prompt, search, sees("found"), answer], format);
  assert.deepEqual(samples[1]?.segments, [
    prompt,
    { kind: "prompt", text: "<search> x </search>" },
    sees("found"),
    answer,
  ]);
});

test("a turn without an action is no sample, but stands in what is read before the next", () => {
  const { samples, numInvalid } = sftSamples([prompt, says("hm"), sees("no action"), answer], format);
  assert.deepEqual([samples.length, numInvalid, samples[0]?.category], [1, 1, 1]);
  assert.equal(samples[0]?.segments[1]?.text, "hm");
});

test("actions are read by the recipe's own grammar, tags inside of documents never", () => {
  const searcher = r1SearcherFormat({ template: "instruct", faithful: false });
  const turns = [
    says("<|begin_of_query|> x <|end_of_query|>"),
    sees("<answer> no </answer>"),
    says("</think><answer> y </answer>"),
  ];
  const categories = (given: Parameters<typeof sftSamples>[1]) =>
    sftSamples([prompt, ...turns], given).samples.map(({ category }) => category);
  assert.deepEqual(categories(searcher), [2, 3]);
  assert.deepEqual(categories(format), [1]);
});

test("of an agent that forgot, a sample has what was visible at its turn, in that order", () => {
  const forgetful: WrittenSegment = { ...answer, visible: [0, 2] };
  const { samples } = sftSamples([prompt, search, sees("found"), forgetful], format);
  assert.deepEqual(samples[1], { category: 3, segments: [prompt, sees("found"), answer] });
});

test("the world's demonstrations fall into all four categories", () => {
  const counts = [0, 0, 0, 0];
  for (const { segments, mode } of demonstrations({ seed: 4, count: 500 })) {
    for (const sample of sftSamples(segments, ragFormat(mode)).samples) {
      counts[sample.category - 1]!++;
      assert.equal(sample.segments.length > 2, sample.category > 2);
      assert.equal(sample.segments.at(-1)!.text.includes("<answer>"), sample.category % 2 === 1);
      assert.equal(sample.segments.filter(({ kind }) => kind === "policy").length, 1);
    }
  }
  assert.ok(Math.min(...counts) > 50, counts.join(", "));
});

test("balanced, each category that occurs has as many samples as the rarest, drawn by the seed", () => {
  const samples = Array.from(
    { length: 40 },
    (_, i) => ({ category: i < 30 ? 2 : i < 36 ? 3 : 4, i }) as const,
  );
  const draw = (seed: number) => balancedSamples(samples, { perCategory: "rarest", seed });
  const counts = [1, 2, 3, 4].map((wanted) => draw(1).filter(({ category }) => category === wanted).length);
  assert.deepEqual(counts, [0, 4, 4, 4]);
  assert.deepEqual(draw(1), draw(1));
  assert.notDeepEqual(draw(1), draw(2));
  assert.deepEqual(
    draw(1).toSorted((a, b) => a.i - b.i),
    draw(1),
  );
  assert.equal(balancedSamples(samples, { perCategory: 5 }).length, 14);
});
