/** What questions are expected to cost, by which ranks share them out: it must be the same on all, whatever comes when. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ResponseLengths } from "../../lib/rollout/response-lengths.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";

const question = (id: string) => ({ id, question: id, answers: [] });

function answered(id: string, written: number, read = 0) {
  const segments = [
    { kind: "prompt", tokens: new Int32Array(7) },
    { kind: "policy", tokens: new Int32Array(written) },
    { kind: "observation", tokens: new Int32Array(read) },
  ];
  return { question: question(id), trajectory: { segments } as unknown as Trajectory };
}

test("a question costs what its rollouts wrote in the mean, one that was never asked what others did", () => {
  const lengths = new ResponseLengths();
  assert.equal(lengths.before(0)(question("a")), 1);
  lengths.add(0, [answered("a", 10, 500), answered("a", 20)]);
  lengths.add(0, [answered("b", 45)]);
  const sizeOf = lengths.before(1);
  assert.deepEqual([sizeOf(question("a")), sizeOf(question("b")), sizeOf(question("c"))], [15, 45, 30]);
  lengths.add(1, [answered("a", 2)]);
  assert.equal(lengths.before(2)(question("a")), 2);
  assert.equal(sizeOf(question("a")), 15);
});

test("what later steps came to is not counted, however early it came", () => {
  const [early, late] = [new ResponseLengths(), new ResponseLengths()];
  for (const lengths of [early, late]) lengths.add(0, [answered("a", 10)]);
  early.add(1, [answered("a", 99)]);
  const sizes = [early, late].map((lengths) => ["a", "b", "c"].map((id) => lengths.before(1)(question(id))));
  assert.deepEqual(sizes[0], sizes[1]);
  late.add(1, [answered("a", 99)]);
  assert.equal(early.before(2)(question("a")), late.before(2)(question("a")));
});
