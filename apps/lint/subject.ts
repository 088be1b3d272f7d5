/** What is linted: an agent's real parts, the weights that are trained, and how trajectories become training rows. */
import type { OptionKinds } from "../../lib/base/check-options.ts";
import type { Question } from "../../lib/data/question.ts";
import type { Policy } from "../../lib/model/policy.ts";
import type { Reward } from "../../lib/reward/reward.ts";
import type { RolloutOptions } from "../../lib/rollout/agents/agent.ts";
import type { AgentParts } from "../../lib/rollout/agents/search-agent.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import type { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import type { Aggregation } from "../../lib/train/algorithm/algorithm.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";
import type { SpokenTurns } from "../world/recipes/world-speech.ts";

/** Rollouts of one question. */
export type LintRollout = (
  parts: AgentParts,
  question: Question,
  options: RolloutOptions,
) => Promise<readonly Trajectory[]>;

/** Log-probabilities of the rows under the weights that are trained, one array per sequence. */
export type Score = (
  sequences: readonly TrainSequence[],
  options: { readonly temperature: number; readonly maxTokens: number },
) => Promise<readonly Float32Array[]>;

/** What is linted. The functions are those a training uses, unless others are given. */
export interface LintSubject {
  /** As `searchAgent` takes them; its engine is the generator. */
  readonly parts: AgentParts;
  /** The vocabulary that `parts.tokenizer` encodes with. */
  readonly tokenizer: Tokenizer;
  /** The weights that are trained. */
  readonly model: Policy;
  readonly reward: Reward;
  readonly question: Question;
  /** All that the model is to be trained on: their accepted answers are looked at. @default the one question */
  readonly questions?: readonly Question[];
  /** Ids that end a text for the model: of generation_config.json, or of config.json. @default what the tokenizer says */
  readonly endIds?: readonly number[];
  /** How rows become one loss. @default "token-mean" */
  readonly aggregation?: Aggregation;
  /** How the agent would search and answer in its tags. @default the family whose turns the format parses */
  readonly turns?: SpokenTurns;
  /** @default the `rollouts` of `searchAgent` */
  readonly rollout?: LintRollout;
  /** What is trained of a trajectory. @default `policySequence` */
  readonly toSequences?: (trajectory: Trajectory) => readonly TrainSequence[];
  /** @default `scoreSequences` of the model */
  readonly score?: Score;
  /** Ends it early. */
  readonly signal?: AbortSignal;
}

/** What `lint` takes. */
export const subjectKinds: OptionKinds<LintSubject> = {
  parts: "object",
  tokenizer: "object",
  model: "object",
  reward: "function",
  question: "object",
  questions: "list",
  endIds: "list",
  aggregation: "any",
  turns: "object",
  rollout: "function",
  toSequences: "function",
  score: "function",
  signal: "signal",
};
