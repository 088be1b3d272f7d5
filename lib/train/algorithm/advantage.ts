/** Advantages in float64: GAE over policy tokens, whitening, and the baselines of groups. */
import { SeekError } from "../../base/errors.ts";

/** How much a later reward counts. */
export interface Discount {
  /** @default 1 */
  readonly gamma?: number;
  /** @default 1 */
  readonly lambda?: number;
}

/**
 * Generalised advantage estimation (Schulman et al., arXiv 1506.02438) over policy tokens alone: the token after the
 * last one before an observation is the first one behind it, so observations are bridged (law 2). After the last token
 * the value is 0.
 *
 * @param rewards - one per policy token, `[R]`
 * @param values - predicted before each of them, `[R]`
 * @param discount - gamma and lambda
 * @returns advantages, and the returns `advantage + value` for the critic
 * @example
 * const { advantages } = gae([0, 1], [0.5, 0.25], { gamma: 1, lambda: 1 });
 * assert.deepEqual([...advantages], [0.5, 0.75]);
 */
export function gae(
  rewards: ArrayLike<number>,
  values: ArrayLike<number>,
  { gamma = 1, lambda = 1 }: Discount = {},
): { readonly advantages: Float64Array; readonly returns: Float64Array } {
  if (rewards.length !== values.length) {
    throw new SeekError("ERR_SHAPE", `values: expected ${rewards.length} numbers, got ${values.length}`);
  }
  const advantages = new Float64Array(rewards.length);
  const returns = new Float64Array(rewards.length);
  let nextValue = 0;
  let nextAdvantage = 0;
  for (let t = rewards.length - 1; t >= 0; t -= 1) {
    const delta = rewards[t]! + gamma * nextValue - values[t]!;
    nextAdvantage = delta + gamma * lambda * nextAdvantage;
    nextValue = values[t]!;
    advantages[t] = nextAdvantage;
    returns[t] = nextAdvantage + nextValue;
  }
  return { advantages, returns };
}

/**
 * Mean 0 and variance 1 over all policy tokens of the step: `(A - mean) / sqrt(var + 1e-8)` with the unbiased variance,
 * as verl's masked whitening does. A single token is only centred.
 *
 * @param advantages - one array per trajectory
 * @returns arrays of the same lengths
 */
export function whiten(advantages: readonly Float64Array[]): Float64Array[] {
  let count = 0;
  let sum = 0;
  for (const one of advantages) for (const value of one) [count, sum] = [count + 1, sum + value];
  const mean = count === 0 ? 0 : sum / count;
  let squares = 0;
  for (const one of advantages) for (const value of one) squares += (value - mean) ** 2;
  const scale = count > 1 ? 1 / Math.sqrt(squares / (count - 1) + 1e-8) : 1;
  return advantages.map((one) => one.map((value) => (value - mean) * scale));
}

/**
 * What a trajectory still earns from each token on, later rewards discounted: of REINFORCE++ (Hu, arXiv 2501.03262) and,
 * less what the greedy answer to the same question earns in all, of ReMax (Li et al., arXiv 2310.10505). There is no
 * critic, and one sample of a question is enough.
 *
 * @param rewards - one per policy token, `[R]`
 * @param options - `gamma`, `@default` 1; `baseline`, the reward of the greedy trajectory, `@default` 0
 * @returns one advantage per policy token
 * @example
 * assert.deepEqual([...rewardsToGo([-0.25, 1], { baseline: 0.5 })], [0.25, 0.5]);
 */
export function rewardsToGo(
  rewards: ArrayLike<number>,
  { gamma = 1, baseline = 0 }: { readonly gamma?: number; readonly baseline?: number } = {},
): Float64Array {
  const advantages = new Float64Array(rewards.length);
  let toGo = 0;
  for (let t = rewards.length - 1; t >= 0; t -= 1) {
    toGo = rewards[t]! + gamma * toGo;
    advantages[t] = toGo - baseline;
  }
  return advantages;
}

/**
 * How a trajectory's score is set against its group's.
 *
 * - `grpo` `(s - mean) / (std + 1e-6)` with the unbiased deviation; alone in its group, `s` (DeepSeekMath, 2402.03300)
 * - `dr-grpo` `s - mean` (2503.20783)
 * - `reinforce++-baseline` the same, whitened over the step's tokens later (2501.03262)
 * - `rloo` `s` minus the mean of the others (2402.14740)
 * - `reinforce` `s` itself, set against nothing: one sample of a question is enough (Williams, 1992)
 */
export type GroupBaseline = "grpo" | "dr-grpo" | "rloo" | "reinforce" | "reinforce++-baseline";

/**
 * Advantages of whole trajectories against those of the same question.
 *
 * @param scores - one per trajectory
 * @param groups - the question of each
 * @param baseline - see {@link GroupBaseline}
 * @returns one advantage per trajectory
 * @example
 * assert.deepEqual(groupAdvantages([1, 0, 0], ["a", "a", "a"], "rloo"), [1, -0.5, -0.5]);
 */
export function groupAdvantages(
  scores: readonly number[],
  groups: readonly (string | number)[],
  baseline: GroupBaseline,
): number[] {
  const members = membersOf(groups);
  return scores.map((score, i) => {
    const group = members.get(groups[i]!)!.map((member) => scores[member]!);
    return againstGroup(score, group, baseline);
  });
}

/** The trajectories of each question. */
function membersOf(groups: readonly (string | number)[]): Map<string | number, number[]> {
  const members = new Map<string | number, number[]>();
  for (const [i, group] of groups.entries()) {
    const known = members.get(group);
    if (known === undefined) members.set(group, [i]);
    else known.push(i);
  }
  return members;
}

function againstGroup(score: number, group: readonly number[], baseline: GroupBaseline): number {
  const size = group.length;
  if (size === 1 || baseline === "reinforce") return score;
  const centred = score - group.reduce((sum, other) => sum + other, 0) / size;
  if (baseline === "rloo") return (centred * size) / (size - 1);
  if (baseline !== "grpo") return centred;
  const mean = score - centred;
  const variance = group.reduce((sum, other) => sum + (other - mean) ** 2, 0) / (size - 1);
  return centred / (Math.sqrt(variance) + 1e-6);
}

/** How rewards of single tokens are compared with a group; see `Algorithm.tokenRewards`. */
interface TokenCredit {
  readonly baseline: GroupBaseline;
  /** @default "to-go" */
  readonly credit?: "to-go" | "ratio";
}

/**
 * Advantages of single tokens against the trajectories of the same question, for rewards that fall on tokens.
 *
 * - `to-go` with `S` a trajectory's total reward and `z` its advantage in the group: `z` less what the tokens before
 *   have earned, plus what the group's tokens earn on average over as large a part of a trajectory, in the scale of `z`
 * - `ratio` `r_t z / s`, of scores `s` that hold the tokens' rewards already (Agentic-RAG-R1); 0 where `s` is 0
 *
 * @param scores - one per trajectory
 * @param rewards - one array per trajectory, one number per policy token
 * @param groups - the question of each
 * @param options - see {@link TokenCredit}
 * @returns one array per trajectory, one advantage per policy token
 * @example
 * const [first] = tokenAdvantages([0, 0], [[1, 0], [0, 0]], ["a", "a"], { baseline: "dr-grpo" });
 * assert.deepEqual([...first], [0.5, -0.25]);
 */
export function tokenAdvantages(
  scores: readonly number[],
  rewards: readonly ArrayLike<number>[],
  groups: readonly (string | number)[],
  { baseline, credit = "to-go" }: TokenCredit,
): Float64Array[] {
  if (credit === "ratio") {
    const whole = groupAdvantages(scores, groups, baseline);
    return rewards.map((rewards_R, i) => {
      const scale = scores[i] === 0 ? 0 : whole[i]! / scores[i]!;
      return Float64Array.from(rewards_R, (reward) => reward * scale);
    });
  }
  const sums = rewards.map((rewards_R) => Array.from(rewards_R).reduce((sum, reward) => sum + reward, 0));
  const totals = scores.map((score, i) => score + sums[i]!);
  const members = membersOf(groups);
  return rewards.map((rewards_R, i) => {
    const group = members.get(groups[i]!)!;
    const inGroup = group.map((member) => totals[member]!);
    const expected = group.reduce((sum, member) => sum + sums[member]!, 0) / group.length;
    return remaining(rewards_R, {
      whole: againstGroup(totals[i]!, inGroup, baseline),
      scale: scaleOf(inGroup, baseline),
      expected: group.length === 1 || baseline === "reinforce" ? 0 : expected,
    });
  });
}

function remaining(
  rewards_R: ArrayLike<number>,
  { whole, scale, expected }: { readonly whole: number; readonly scale: number; readonly expected: number },
): Float64Array {
  let earned = 0;
  return Float64Array.from(rewards_R, (reward, t) => {
    const advantage = whole - scale * (earned - (expected * t) / rewards_R.length);
    earned += reward;
    return advantage;
  });
}

/** What a difference of scores is multiplied with to become an advantage. */
function scaleOf(group: readonly number[], baseline: GroupBaseline): number {
  const size = group.length;
  if (baseline === "rloo" && size > 1) return size / (size - 1);
  if (baseline !== "grpo" || size === 1) return 1;
  return 1 / (Math.sqrt((variance(group) * size) / (size - 1)) + 1e-6);
}

/**
 * Share of the returns' variance that the values explain: 1 is perfect, 0 no better than a constant.
 *
 * @param values - predictions
 * @param returns - what came
 */
export function explainedVariance(values: readonly number[], returns: readonly number[]): number {
  const errors = returns.map((value, i) => value - values[i]!);
  return 1 - variance(errors) / (variance(returns) + 1e-5);
}

function variance(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}
