/** Trainings of two ranks on GPUs: the numbers of one GPU and of two CPUs, and what becomes of a collective that is aborted. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { digestsBelow } from "../../../../lib/base/files/digests.ts";
import { latestCheckpoint } from "../../../../lib/train/run/checkpoint.ts";
import { runRanks } from "../../../comm/ranks.ts";
import { projectRoot } from "../../../project.ts";
import { withFolder, withoutClock } from "../../../train/run/kill.ts";
import { relativeDifference } from "../../models.ts";

const emulation = join(projectRoot, "build", "cmake", "Release", "libseekrl_emulated.so");
const skip = existsSync(emulation) ? false : "not built: SEEKRL_TESTS is off";

/** What a rank says of a step, or of what ended it. */
interface Line {
  readonly loss: number;
  readonly grad_norm: number;
  readonly weights: readonly number[];
  /** Log-probabilities of all sequences' rows. */
  readonly scores: readonly number[];
  readonly code?: string;
  readonly message?: string;
}

async function run(size: number, device: string, options: object, folder: readonly string[] = []) {
  const args = [device, JSON.stringify(options), ...folder];
  const ranks = await runRanks("./training-rank.js", import.meta.url, { size, args });
  return ranks.map(({ lines, code, stderr }) => ({ lines: lines as Line[], code, stderr }));
}

async function train(size: number, device: string, options: object): Promise<Line[][]> {
  const ranks = await run(size, device, options);
  assert.deepEqual(
    ranks.map(({ code, stderr }) => [code, stderr]),
    Array(size).fill([0, ""]),
    JSON.stringify(ranks.map(({ lines }) => lines.at(-1))),
  );
  return ranks.map(({ lines }) => lines);
}

/** `share`: how far numbers may be apart. */
function assertNear(actual: readonly Line[], expected: readonly Line[], share: number): void {
  assert.equal(actual.length, expected.length);
  for (const [i, line] of expected.entries()) {
    const own = actual[i]!;
    for (const key of ["loss", "grad_norm"] as const)
      assert.ok(
        Math.abs(own[key] / line[key] - 1) < share,
        `step ${i + 1}, ${key}: ${own[key]}, ${line[key]}`,
      );
    const difference = relativeDifference(line.weights, own.weights);
    assert.ok(difference < share, `step ${i + 1}, weights: ${difference}`);
  }
}

test("two GPUs have the losses and weights of one, and of two CPUs", { skip }, async () => {
  const [[alone], [cpu]] = await Promise.all([train(1, "emulated", {}), train(2, "cpu", {})]);
  for (const zero of [0, 3]) {
    const [first, second] = await train(2, "emulated", { zero });
    assert.deepEqual(second, first);
    // Sums in f32 of the same products; a weight in bf16 may be rounded the other way.
    assertNear(first!, alone!, 1e-3);
    // A GPU's activations have 8 bits between products, the CPU's 24.
    assertNear(first!, cpu!, 0.02);
  }
  const [rounded] = await train(2, "emulated", { zero: 2, reduceDtype: "bfloat16" });
  // Each addend of a gradient is off by 2^-8 at most.
  assertNear(rounded!, alone!, 2 ** -7);
});

test("experts whose weights have other memory after each step are scored with what they learnt", {
  skip,
}, async () => {
  const options = { shape: "four experts, each weighed" };
  const [alone] = await train(1, "emulated", options);
  for (const activationBytes of [undefined, 0]) {
    const [first, second] = await train(2, "emulated", { ...options, zero: 3, activationBytes });
    assert.deepEqual(second, first);
    assertNear(first!, alone!, 5e-3);
    for (const [i, { scores }] of alone!.entries()) {
      const difference = relativeDifference(scores, first![i]!.scores);
      assert.ok(difference < 5e-3, `step ${i + 1}: ${difference}`);
    }
  }
});

test("two GPUs draw the tokens of one, whoever draws them, and learn the same of them", {
  skip,
}, async () => {
  const once = { isImproved: true, steps: 1 };
  const [[alone], [first, second]] = [
    await train(1, "emulated", once),
    await train(2, "emulated", { ...once, zero: 3 }),
  ];
  assert.deepEqual(withoutClock(second![0]!), withoutClock(first![0]!));
  for (const name of ["reward/mean", "tokens"] as const)
    assert.equal(Reflect.get(first![0]!, name), Reflect.get(alone![0]!, name), name);
  // Scores of another micro-batch may be rounded another way, in 8 bits; losses of either sign nearly cancel out.
  const [own, expected] = [first![0]!, alone![0]!];
  assert.ok(Math.abs(own.loss - expected.loss) < 1e-3, `${own.loss}, ${expected.loss}`);
  assertNear([{ ...own, loss: 1 }], [{ ...expected, loss: 1 }], 0.02);
});

test("with gradient shards two GPUs have the bits of one", { skip }, async () => {
  const [alone] = await train(1, "emulated", { gradientShards: 2 });
  const [first] = await train(2, "emulated", { gradientShards: 2, zero: 2 });
  // The norm is told as it was summed: in f64, in an order of the GPU's own.
  const bits = (lines: readonly Line[]) => lines.map(({ loss, weights }) => [loss, weights]);
  assert.deepEqual(bits(first!), bits(alone!));
});

const broken = "NCCL: remote process exited or there was a network error";

/** Rank 1's connections break in the middle of a collective: it says so, alone or where all agree, and the other one says who. */
function assertEnded(ranks: Awaited<ReturnType<typeof run>>, what: string): void {
  const messages = [/^[a-z -]+: rank 1: /, /^(?:[a-z -]+: rank 1: )?/].map(
    (who) => new RegExp(`${who.source}${what}: ${broken}$`),
  );
  for (const [rank, { code, stderr, lines }] of ranks.entries()) {
    const last = lines.at(-1)!;
    assert.deepEqual([code, stderr, last.code], [1, "", "ERR_REMOTE"], last.message);
    assert.match(last.message ?? "", messages[rank]!);
  }
}

test("gradients whose sum was aborted are not applied", { skip }, async () => {
  // One sum a step: this is the second step's.
  const ranks = await run(2, "emulated", { steps: 2, fault: "1" });
  assertEnded(ranks, "gradients");
  for (const { lines } of ranks) {
    assert.equal(lines.length, 2);
    assert.deepEqual(lines[1]!.weights, lines[0]!.weights);
  }
});

test("weights whose exchange was aborted come into no checkpoint, and the training goes on from the one before", {
  skip,
}, async () => {
  const weightsAt = async (folder: string) => {
    const checkpoint = await latestCheckpoint(join(folder, "checkpoints"));
    return [
      checkpoint!.step,
      await digestsBelow(join(checkpoint!.folder)).then(({ "state.json": _, ...rest }) => rest),
    ];
  };
  await withFolder(async (parent) => {
    const [whole, part] = [join(parent, "whole"), join(parent, "part")];
    await run(2, "emulated", { zero: 1, steps: 2 }, [whole]);
    // A step sums three units and then brings three: this is the last of the second step.
    assertEnded(await run(2, "emulated", { zero: 1, steps: 2, fault: "11" }, [part]), "weights");
    assert.equal((await latestCheckpoint(join(part, "checkpoints")))?.step, 1);
    await run(2, "emulated", { zero: 1, steps: 2 }, [part]);
    assert.deepEqual(await weightsAt(part), await weightsAt(whole));
  });
});
