/** Times of collectives against the formulas of rings, by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { broadcastSeconds, gatherSeconds, groupOf, pairSumSeconds } from "../../apps/plan/collectives.ts";
import { clusterOf, device } from "./tiny-training.ts";

/** Sums of a few products in another order. */
function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-12 * Math.abs(expected), `${actual}, expected ${expected}`);
}

test("a group of one communicates in no time", () => {
  const alone = groupOf(clusterOf(1), { members: 1 });
  assert.deepEqual(
    [gatherSeconds(1e9, alone), pairSumSeconds(1e9, alone), broadcastSeconds(1e9, alone)],
    [0, 0, 0],
  );
});

test("an all-gather within a machine passes (n - 1) / n of the bytes and n - 1 messages", () => {
  const link = { bytesPerSecond: 1e9, latencySeconds: 1e-3 };
  const four = groupOf(clusterOf(4, { device: { ...device, link } }), { members: 4 });
  near(gatherSeconds(2e9, four), (3 / 4) * 2 + 3e-3);
});

test("a sum in pairs sends all of it in each of log2(n) rounds", () => {
  const link = { bytesPerSecond: 1e9, latencySeconds: 1e-3 };
  const cluster = clusterOf(4, { device: { ...device, link } });
  const [two, four] = [2, 4].map((members) => pairSumSeconds(2e9, groupOf(cluster, { members })));
  near(two!, 2 + 1e-3);
  near(four!, 2 * two!);
});

test("between machines each device carries its part of the bytes", () => {
  // Three quarters of a second within a machine; a quarter of the bytes, half of them passed on, at a tenth of the speed.
  near(gatherSeconds(1e9, groupOf(clusterOf(8), { members: 8 })), 3 / 4 + (1 / 2) * (1 / 4) * 10);
});

test("twice the bandwidth is half of the time that bytes take, and leaves that of messages", () => {
  const at = (bytesPerSecond: number): number => {
    const link = { bytesPerSecond, latencySeconds: 1e-3 };
    return gatherSeconds(1e9, groupOf(clusterOf(4, { device: { ...device, link } }), { members: 4 }));
  };
  near(at(2e9) - 3e-3, (at(1e9) - 3e-3) / 2);
});

test("devices that are a tensor group apart have the network between them sooner", () => {
  const { inside, between } = groupOf(clusterOf(16), { members: 8, stride: 2 });
  assert.deepEqual([inside.members, between.members], [2, 4]);
});

test("a broadcast takes the time of its bytes over each kind of link once", () => {
  near(broadcastSeconds(1e9, groupOf(clusterOf(8), { members: 8 })), 1 + 10 / 4);
});
