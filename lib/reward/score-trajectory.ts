/** Calls rewards with a deadline and a signal: what is no finite number is a failure of the reward, reported and left out. */
import { shownValue } from "../base/check-options.ts";
import { beforeDeadline } from "../base/deadline.ts";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import type { Question } from "../data/question.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { GroupReward } from "./group.ts";
import { checkReward, type Reward, type TokenReward } from "./reward.ts";

/** What trajectories earn, and how long that may take. */
export interface TaskRewards {
  readonly reward: Reward;
  /** What the rollouts of one question add to each other's rewards. @default nothing */
  readonly groupReward?: GroupReward | undefined;
  /** Rewards of single tokens besides: one number for each policy token, in order. @default nothing */
  readonly tokenRewards?: TokenReward | undefined;
  /** Each call, milliseconds; it includes the wait for a judge that is busy. @default 600_000 */
  readonly rewardDeadlineMs?: number | undefined;
  /** Called with the reason why a trajectory is left out. */
  readonly onRewardFailure?: ((failure: string, trajectory: Trajectory) => void) | undefined;
}

/** What a trajectory earns, or why that is not known: it threw, took too long, or gave no finite number. */
type Scored =
  | {
      readonly reward: number;
      readonly tokenRewards?: ArrayLike<number> | undefined;
      readonly failure?: undefined;
    }
  | { readonly reward?: undefined; readonly tokenRewards?: undefined; readonly failure: string };

const defaultDeadlineMs = 600_000;

/**
 * The reward of a trajectory. A reward that throws, takes longer than its deadline or gives anything but finite numbers
 * is a failure, which names the reward: leave the trajectory out and count it.
 *
 * @param rewards - the reward and that of single tokens, deadline, who gets failures
 * @param scored - trajectory and question
 * @param options - `signal` ends the wait
 * @returns the numbers, or the failure
 * @throws ERR_ABORTED when the signal fires; ERR_RANGE for a deadline that is none
 * @example
 * const reward = () => JSON.parse('"1"');
 * const { failure } = await scoreTrajectory({ reward }, { trajectory, question });
 * assert.equal(failure, 'reward: expected a finite number, got "1"');
 */
export async function scoreTrajectory(
  rewards: Omit<TaskRewards, "groupReward">,
  { trajectory, question }: { readonly trajectory: Trajectory; readonly question: Question },
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Scored> {
  const { reward, tokenRewards } = rewards;
  const limits = { signal: options.signal, rewardDeadlineMs: rewards.rewardDeadlineMs };
  const [whole, tokens] = await Promise.all([
    call("reward", async (how) => checkReward("reward", await reward(trajectory, question, how)), limits),
    tokenRewards &&
      call("token rewards", async (how) => finite(await tokenRewards(trajectory, question, how)), limits),
  ]);
  const failure = whole.failure ?? tokens?.failure;
  if (failure === undefined) return { reward: whole.value!, tokenRewards: tokens?.value };
  rewards.onRewardFailure?.(failure, trajectory);
  return { failure };
}

/**
 * The rewards of all rollouts of one question, with what they add to each other. A group reward that fails leaves out
 * the whole group.
 *
 * @param rewards - reward, those of groups and tokens, deadline
 * @param group - the rollouts and their question
 * @param options - `signal` ends the wait
 * @returns numbers or failures, in order
 * @throws as `scoreTrajectory`
 * @example
 * const group = [0, 2].map((rounds) => ({ ...trajectory, rounds }));
 * const reward = ({ rounds }) => (rounds === 0 ? Number.NaN : 1);
 * const [first, second] = await scoreGroup({ reward }, { trajectories: group, question });
 * assert.deepEqual([first.failure, second.reward], ["reward: expected a finite number, got NaN", 1]);
 */
export async function scoreGroup(
  rewards: TaskRewards,
  { trajectories, question }: { readonly trajectories: readonly Trajectory[]; readonly question: Question },
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Scored[]> {
  const scored = await Promise.all(
    trajectories.map((trajectory) => scoreTrajectory(rewards, { trajectory, question }, options)),
  );
  const { groupReward, rewardDeadlineMs, onRewardFailure } = rewards;
  const members = trajectories.flatMap((trajectory, i) => {
    const { reward } = scored[i]!;
    return reward === undefined ? [] : [{ trajectory, reward }];
  });
  if (groupReward === undefined || members.length === 0) return scored;
  const name = "group reward";
  const added = await call(
    name,
    async (how) => finite(await groupReward(members, question, how), name, members.length),
    { signal: options.signal, rewardDeadlineMs },
  );
  const { failure } = added;
  if (failure !== undefined) for (const { trajectory } of members) onRewardFailure?.(failure, trajectory);
  const additions = new Map(members.map(({ trajectory }, i) => [trajectory, added.value?.[i]]));
  return scored.map((each, i) => {
    if (each.failure !== undefined) return each;
    if (failure !== undefined) return { failure };
    return { ...each, reward: each.reward + additions.get(trajectories[i]!)! };
  });
}

/** What the environment pays for a trajectory in all: the reward and those of its tokens; undefined after a failure. */
export function totalReward({ reward, tokenRewards }: Scored): number | undefined {
  if (reward === undefined || tokenRewards === undefined) return reward;
  return Array.from(tokenRewards).reduce((sum, one) => sum + one, reward);
}

type Outcome<Value> =
  | { readonly value: Value; readonly failure?: undefined }
  | { readonly value?: undefined; readonly failure: string };

async function call<Value>(
  name: string,
  work: (how: { readonly signal: AbortSignal }) => Promise<Value>,
  {
    signal,
    rewardDeadlineMs: timeoutMs = defaultDeadlineMs,
  }: { readonly signal?: AbortSignal | undefined } & Pick<TaskRewards, "rewardDeadlineMs">,
): Promise<Outcome<Value>> {
  // A timer of more milliseconds fires at once.
  if (!(timeoutMs > 0 && timeoutMs < 2 ** 31)) {
    throw new SeekError("ERR_RANGE", `rewardDeadlineMs: expected 1 to ${2 ** 31 - 1}, got ${timeoutMs}`);
  }
  const outcome = await beforeDeadline((stop) => work({ signal: stop }), { timeoutMs, signal });
  if (outcome.kind === "done") return { value: outcome.result };
  throwIfAborted(signal, name);
  if (outcome.kind !== "failed") return { failure: `${name}: no number within ${timeoutMs} ms` };
  const { error } = outcome;
  const message = error instanceof Error ? error.message : shownValue(error);
  return { failure: message.startsWith(`${name}: `) ? message : `${name}: ${message}` };
}

function finite(values: ArrayLike<number>, name = "token rewards", length = values?.length): number[] {
  if (typeof length !== "number" || values.length !== length) {
    throw new SeekError(
      "ERR_ARGUMENT",
      `${name}: expected ${length ?? "a list of"} numbers, got ${shownValue(values)}`,
    );
  }
  return Array.from(values, (value, i) => checkReward(`${name}: [${i}]`, value));
}
