/** What a recipe is: plain options that fit together. */
import type { Reward } from "../reward/reward.ts";
import type { Format } from "../rollout/format.ts";
import type { Limits, Sampling } from "../rollout/rollout.ts";

/** How an agent talks, how far it may go, and what its work is worth. */
export interface Recipe {
  readonly format: Format;
  readonly limits: Limits;
  /** How tokens are drawn while training; evaluation is greedy. */
  readonly sampling: Sampling;
  readonly reward: Reward;
}
