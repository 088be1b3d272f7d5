/** Evaluation on questions that training never sees, with the recipe's own reward beside the usual figures. */
import { SeekError } from "../../../lib/base/errors.ts";
import type { Question } from "../../../lib/data/question.ts";
import { type Evaluation, evaluate } from "../../../lib/evaluate/evaluate.ts";
import type { EvaluateOptions } from "../../../lib/evaluate/options.ts";
import type { Reward } from "../../../lib/reward/reward.ts";
import { scoreTrajectory } from "../../../lib/reward/score-trajectory.ts";
import { type AgentParts, searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import {
  loggedMemory,
  type MemoryFigures,
  type MemoryTrajectory,
  memoryFigures,
} from "../../../lib/rollout/memory-figures.ts";
import type { Sampling } from "../../../lib/rollout/seams.ts";

/** An evaluation, and what the recipe would have paid for it. */
export interface HeldOut extends Evaluation {
  /** Mean of the recipe's own reward. */
  readonly reward: number;
  /** Share of questions that were searched for. */
  readonly searchShare: number;
  /** Queries per question; parallel ones count each. */
  readonly numQueries: number;
  /** Turns without an action, per question. */
  readonly invalidActions: number;
  /** Of agents with a memory stack. */
  readonly memory?: MemoryFigures;
}

/** What it pays, how its tokens are chosen, and how to evaluate. */
interface HeldOutOptions extends Omit<EvaluateOptions, "questions" | "agent"> {
  readonly reward: Reward;
  /** @default greedily */
  readonly sampling?: Sampling;
}

/**
 * Lets an agent answer.
 *
 * @param questions - held-out ones
 * @param parts - the agent's
 * @param options - the reward, and how to evaluate
 */
export async function evaluateHeldOut(
  questions: readonly Question[],
  parts: AgentParts,
  { reward, sampling = { temperature: 0 }, ...options }: HeldOutOptions,
): Promise<HeldOut> {
  const agent = searchAgent({ ...parts, sampling });
  const rewards: number[] = [];
  const played: MemoryTrajectory[] = [];
  const evaluation = await evaluate({
    ...{ ...options, questions },
    agent: async (question, how) => {
      const trajectory = await agent(question, how);
      const scored = await scoreTrajectory({ reward }, { trajectory, question }, how);
      if (scored.failure !== undefined) throw new SeekError("ERR_ARGUMENT", scored.failure);
      rewards.push(scored.reward);
      played.push({
        segments: trajectory.segments,
        memory: trajectory.memory,
      });
      return trajectory;
    },
  });
  const { perQuestion } = evaluation;
  const memory = memoryFigures(played);
  const meanOf = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / perQuestion.length;
  return {
    ...evaluation,
    reward: meanOf(rewards),
    searchShare: meanOf(perQuestion.map(({ rounds }) => Number(rounds > 0))),
    numQueries: meanOf(perQuestion.map(({ queries }) => queries.flat().length)),
    invalidActions: meanOf(perQuestion.map((each) => each.invalidActions)),
    memory,
  };
}

/** The figures that a training log keeps of an evaluation. */
export function loggedFigures({
  reward,
  em,
  f1,
  searchShare,
  rounds,
  memory,
}: HeldOut): Record<string, number> {
  return {
    "eval/reward": reward,
    "eval/em": em,
    "eval/f1": f1,
    "eval/search_share": searchShare,
    "eval/rounds": rounds,
    ...Object.fromEntries(
      Object.entries(memory ? loggedMemory(memory) : {}).map(([name, value]) => [`eval/${name}`, value]),
    ),
  };
}
