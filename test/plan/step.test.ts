/** A step's time by hand, its limits, and the memory of a device against the planner of one process. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { aloneSeconds, laidOut, layoutsOf } from "../../apps/plan/layouts.ts";
import { deviceMemory } from "../../apps/plan/memory.ts";
import { planned } from "../../apps/plan/planned.ts";
import { rolloutSeconds } from "../../apps/plan/rollouts.ts";
import { knownConfig } from "../../apps/plan/shapes.ts";
import type { Layout } from "../../apps/plan/step.ts";
import { adapterParameters } from "../../lib/model/form/adapter-size.ts";
import { numParameters, trainingMemory } from "../../lib/train/memory/plan.ts";
import { clusterOf, config, device, parts, trainingOf, workload } from "./tiny-training.ts";

const plain: Layout = { zero: 0, tensor: 1, rolloutDevices: 0 };

function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.abs(expected), `${actual}, expected ${expected}`);
}

test("rollouts read prompts once a question, write, wait for one search, read it and write again", () => {
  const { whole, busy } = rolloutSeconds(parts, workload, { questions: 2, room: 100, begun: 2, rank: 0 });
  const [prompts, turn, found] = [2 * 100 * 1e-4, 20 * 1e-3, 8 * 30 * 1e-4];
  near(busy, prompts + turn + found + turn);
  near(whole, busy + 2);
});

test("sequences without room wait until others have ended", () => {
  const all = rolloutSeconds(parts, workload, { questions: 2, room: 8, begun: 2, rank: 0 });
  const half = rolloutSeconds(parts, workload, { questions: 2, room: 4, begun: 2, rank: 0 });
  near(half.whole, 2 * (all.whole - 100 * 1e-4 - 4 * 30 * 1e-4));
});

test("questions that are not begun at once begin when others have ended", () => {
  const of = (begun: number) =>
    rolloutSeconds(parts, workload, { questions: 4, room: 100, begun, rank: 0 }).whole;
  // Three waves of reading differ from one; the waits and the turns of the second come on top.
  near(of(3) - of(4), 2 * 20 * 1e-3 + 2);
});

test("turns of many lengths end later than their mean, and the same draws give the same time", () => {
  const spread = { ...workload, spread: 0.5 };
  const times = [0, 0, 1].map(
    (rank) => rolloutSeconds(parts, spread, { questions: 8, room: 99, begun: 8, rank }).whole,
  );
  assert.equal(times[0], times[1]);
  assert.notEqual(times[0], times[2]);
  assert.ok(times[0]! > rolloutSeconds(parts, workload, { questions: 8, room: 99, begun: 8, rank: 0 }).whole);
});

test("one device has no collectives, and a step is the sum of its parts", () => {
  const { seconds } = laidOut(trainingOf(), clusterOf(1), plain);
  assert.deepEqual([seconds.collectives, seconds.exchange, seconds.weights], [0, 0, 0]);
  // 16 questions' prompts of 100 tokens, and 64 samples of 70; each of two mini-batches has one of four with 15 in 16.
  near(seconds.training, (2 * (15 / 16) * 16 * 100 + 64 * 70) * 1e-3);
  near(seconds.scoring, (16 * 100 + 64 * 70) * 1e-4);
  near(seconds.optimiser, 2 * 0.25);
  near(seconds.total, seconds.rollouts + seconds.scoring + seconds.training + seconds.optimiser + 0.5);
});

test("two devices halve the texts of each, and reduce 4 bytes a weight in every update", () => {
  const { seconds } = laidOut(trainingOf(), clusterOf(2), plain);
  // A rank's 16 texts of a mini-batch are made of pieces of 4, more than a question has there: no prompt is read twice.
  near(seconds.training, ((2 * (15 / 16) * 16 * 100 + 64 * 70) / 2) * 1e-3);
  near(seconds.collectives, 2 * ((2 * (1 / 2) * 4 * numParameters(config)) / 1e9));
});

test("twice the bandwidth halves the collectives", () => {
  const link = { ...device.link, bytesPerSecond: 2e9 };
  const [slow, fast] = [clusterOf(4), clusterOf(4, { device: { ...device, link } })];
  for (const zero of [0, 1, 2, 3] as const) {
    const of = (cluster: typeof slow) =>
      laidOut(trainingOf(), cluster, { ...plain, zero }).seconds.collectives;
    near(of(fast), of(slow) / 2);
  }
});

test("from level 2 on reductions hide under the backward pass, as far as they are told to", () => {
  const at = (overlap: number, zero: 1 | 2) =>
    laidOut(trainingOf({ overlap }), clusterOf(4), { ...plain, zero }).seconds.collectives;
  assert.ok(at(0.001, 2) < at(0, 2));
  assert.equal(at(1, 1), at(0, 1));
  // What is left is the all-gather of new weights, 2 bytes each, in each of two updates.
  near(at(1, 2), (2 * (3 / 4) * 2 * numParameters(config)) / 1e9);
});

test("stale weights let devices that generate and devices that train work at once", () => {
  const apart = { ...plain, rolloutDevices: 2 };
  const { seconds } = laidOut(trainingOf({ staleness: 1 }), clusterOf(4), apart);
  near(
    seconds.total,
    Math.max(
      seconds.rollouts,
      seconds.training +
        seconds.scoring +
        seconds.collectives +
        seconds.optimiser +
        seconds.weights +
        seconds.exchange +
        0.5,
    ),
  );
  const together = laidOut(trainingOf({ staleness: 1 }), clusterOf(4), plain).seconds;
  const synchronous = laidOut(trainingOf(), clusterOf(4), plain).seconds;
  // Each rank begins three of its four questions at once: there are two waits for a search of 2 s, in which training goes on.
  near(synchronous.total - together.total, Math.min(4, synchronous.total - synchronous.rollouts));
});

test("an update of shared states has its part of the weights", () => {
  const counted = { ...parts, optimiserSeconds: (parameters: number) => parameters * 1e-6 };
  const of = (zero: 0 | 1) =>
    laidOut(trainingOf({ parts: counted }), clusterOf(4), { ...plain, zero }).seconds.optimiser;
  near(of(1), of(0) / 4);
});

test("with one rank memory is that of the planner; each level shares out its part", () => {
  const { model } = trainingOf({});
  const seven = { ...model, config: knownConfig("qwen2.5-7b")!, hasReference: true, hasCritic: true };
  const { config: shape, dtype, batch } = seven;
  const plan = trainingMemory({ config: shape, dtype, batch, hasCritic: true, hasReference: true });
  const of = (zero: 0 | 1 | 2 | 3, ranks: number) =>
    deviceMemory(seven, { zero, ranks }, { memoryBytes: 1e13 });
  for (const part of [
    "process",
    "weights",
    "gradients",
    "optimiser",
    "critic",
    "reference",
    "activations",
    "head",
  ] as const)
    assert.equal(of(0, 1)[part], plan[part], part);
  assert.equal(of(0, 1).total, plan.total);
  assert.deepEqual(
    [of(1, 4).optimiser, of(2, 4).gradients, of(3, 4).weights],
    [plan.optimiser / 4, plan.gradients / 4, plan.weights / 4],
  );
  assert.equal(of(1, 4).gradients, plan.gradients);
  assert.equal(of(3, 4).critic, plan.critic / 4);
  const { total, ...parted } = deviceMemory(
    seven,
    { zero: 3, ranks: 4 },
    { memoryBytes: 1e13, isGathered: true },
  );
  const states = (plan.gradients + plan.optimiser) / 2 + plan.reference;
  assert.ok(total >= plan.process + 2 * plan.weights + states, "a critic is whole to predict values");
  near(parted.weights, plan.weights / 4);
  // No step changes it.
  assert.equal(of(3, 4).reference, plan.reference);
});

test("under an adapter every rank has the frozen weights, and shares out what is trained", () => {
  const model = { ...trainingOf().model, config: knownConfig("qwen2.5-7b")!, loraRank: 16 };
  const of = (zero: 0 | 3) => deviceMemory(model, { zero, ranks: 4 }, { memoryBytes: 1e13 });
  const adapter = 4 * adapterParameters(model.config, { rank: 16 });
  near(of(0).weights - of(3).weights, (3 / 4) * adapter);
  near(of(0).weights, 2 * numParameters(model.config) + adapter);
});

test("layers recompute where that makes a micro-batch fit, and no further", () => {
  const model = {
    ...trainingOf().model,
    config: knownConfig("qwen2.5-0.5b")!,
    batch: { tokens: 16_384, rows: 4096 },
  };
  const at = (memoryBytes: number) => deviceMemory(model, { zero: 0, ranks: 1 }, { memoryBytes });
  assert.equal(at(1e12).recomputed, 0);
  const tight = at(30e9);
  assert.ok(tight.fits && tight.recomputed > 0 && tight.recomputed < 1);
  assert.ok(tight.total <= 0.9 * 30e9);
  assert.ok(!at(5e9).fits);
});

test("what fits nowhere is told with the first larger cluster on which it does", () => {
  const model = { ...trainingOf().model, config: knownConfig("qwen2.5-7b")! };
  const training = trainingOf({ model, parts: undefined });
  const cluster = clusterOf(2);
  const { best, enough } = planned(training, cluster);
  assert.equal(best, undefined);
  const { devices, best: larger } = enough!;
  assert.ok(larger.fits && devices > 2);
  assert.equal(planned(training, { ...cluster, devices: devices / 2 }).best, undefined);
});

test("layouts keep tensor groups within machines, and share heads evenly", () => {
  const layouts = layoutsOf(trainingOf(), clusterOf(8));
  // Machines of four, four key heads.
  assert.deepEqual([...new Set(layouts.map(({ tensor }) => tensor))], [1, 2, 4]);
  assert.ok(layouts.every(({ rolloutDevices }) => rolloutDevices === 0));
  assert.ok(
    layoutsOf(trainingOf({ staleness: 1 }), clusterOf(8)).some(({ rolloutDevices }) => rolloutDevices === 4),
  );
});

test("one device is as efficient as one device", () => {
  const training = trainingOf();
  near(aloneSeconds(training, clusterOf(1)), laidOut(training, clusterOf(1), plain).seconds.total);
  near(planned(training, clusterOf(1)).best!.efficiency, 1);
});
