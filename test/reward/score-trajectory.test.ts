/** One place that calls rewards: with a deadline, a signal, and a check of what they give. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { scoreGroup, scoreTrajectory, totalReward } from "../../lib/reward/score-trajectory.ts";
import { asks, spoken } from "./spoken.ts";

const [question, trajectory] = [asks("Rome"), spoken("<answer> Rome </answer>")];
const played = { trajectory, question };
/** What a program without types may return. */
const untyped = (value: unknown) => () => value as number;

test("what is no finite number is the reward's failure, which says what it gave", async () => {
  const cases: [unknown, string][] = [
    ["1", '"1"'],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [undefined, "undefined"],
    [true, "true"],
    [[1], "[1]"],
  ];
  for (const [value, shown] of cases) {
    const told: string[] = [];
    const onRewardFailure = (failure: string): void => void told.push(failure);
    const scored = await scoreTrajectory({ reward: untyped(value), onRewardFailure }, played);
    const failure = `reward: expected a finite number, got ${shown}`;
    assert.deepEqual([scored, told], [{ failure }, [failure]]);
  }
});

test("a reward that throws or never answers fails alone", async () => {
  const thrown = async (error: unknown): Promise<string | undefined> => {
    const reward = () => {
      throw error;
    };
    return (await scoreTrajectory({ reward }, played)).failure;
  };
  assert.equal(await thrown(new Error("no key")), "reward: no key");
  assert.equal(await thrown("no key"), 'reward: "no key"');
  let hasStopped = false;
  const reward = (_: unknown, __: unknown, { signal }: { readonly signal?: AbortSignal } = {}) => {
    signal?.addEventListener("abort", () => {
      hasStopped = true;
    });
    return new Promise<number>(() => {});
  };
  const { failure } = await scoreTrajectory({ reward, rewardDeadlineMs: 20 }, played);
  assert.equal(failure, "reward: no number within 20 ms");
  assert.ok(hasStopped, "the reward is told to end");
});

test("the caller's signal ends the wait and is no failure of the reward", async () => {
  const stop = new AbortController();
  const told: string[] = [];
  const rewards = {
    reward: () => new Promise<number>(() => {}),
    onRewardFailure: (failure: string): void => void told.push(failure),
  };
  const running = scoreTrajectory(rewards, played, { signal: stop.signal });
  stop.abort();
  await assert.rejects(running, { code: "ERR_ABORTED" });
  assert.deepEqual(told, []);
});

test("a deadline that no timer can keep is refused", async () => {
  for (const rewardDeadlineMs of [0, -1, 2 ** 31, Number.NaN]) {
    const running = scoreTrajectory({ reward: () => 1, rewardDeadlineMs }, played);
    await assert.rejects(running, { code: "ERR_RANGE" });
  }
});

test("token rewards are checked number by number, and count towards the total", async () => {
  const good = await scoreTrajectory({ reward: () => 1, tokenRewards: () => [0.5, 0.25] }, played);
  assert.equal(totalReward(good), 1.75);
  const bad = { reward: () => 1, tokenRewards: () => [0.5, Number.NaN] };
  const { failure } = await scoreTrajectory(bad, played);
  assert.equal(failure, "token rewards: [1]: expected a finite number, got NaN");
});

test("a group reward that fails leaves out its group, one of a wrong length included", async () => {
  const trajectories = [trajectory, { ...trajectory, rounds: 1 }, { ...trajectory, rounds: 2 }];
  // The reward of the second fails, so the group has two members.
  const reward = ({ rounds }: { readonly rounds: number }) => (rounds === 1 ? Number.NaN : rounds);
  const failed = "reward: expected a finite number, got NaN";
  const scored = async (groupReward: () => readonly number[]) => {
    const all = await scoreGroup({ reward, groupReward }, { trajectories, question });
    return all.map((each) => each.failure ?? each.reward);
  };
  assert.deepEqual(await scored(() => [10, 20]), [10, failed, 22]);
  const ofLength = "group reward: expected 2 numbers, got [10,20,30]";
  assert.deepEqual(await scored(() => [10, 20, 30]), [ofLength, failed, ofLength]);
  const ofKind = "group reward: [1]: expected a finite number, got Infinity";
  assert.deepEqual(await scored(() => [1, Number.POSITIVE_INFINITY]), [ofKind, failed, ofKind]);
  const thrown = () => assert.fail("no group");
  assert.deepEqual(await scored(thrown), ["group reward: no group", failed, "group reward: no group"]);
});
