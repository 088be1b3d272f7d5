/** What an evaluation is given: an agent, sets of questions, and how to go about it. */
import { countKind, type OptionKinds, wholeKind } from "../base/check-options.ts";
import type { ProcessGroup } from "../comm/process-group.ts";
import type { Question } from "../data/question.ts";
import type { Verdict } from "../reward/judge.ts";
import { type RulesName, rulesNames } from "../reward/metrics/rules.ts";
import type { Agent } from "../rollout/agents/agent.ts";

/** How to evaluate. */
export interface EvaluateSetsOptions {
  readonly agent: Agent;
  /** Fixes every sampled token and the intervals. @default 0 */
  readonly seed?: number;
  /** Whose metric rules. @default "flashrag" */
  readonly rules?: RulesName;
  /** Questions under way at once; the engine batches them. @default 256 */
  readonly concurrency?: number;
  /** A file for one JSON line per question, each written when the question is finished. */
  readonly output?: string;
  /** Continues `output` where an earlier run was stopped. @default false */
  readonly resume?: boolean;
  /** What else decides the outcome, such as the model's name: a run of other settings is not continued. */
  readonly settings?: object;
  /** Says whether an answer is right, besides the rules; what it cannot judge is left out of its mean. @default nobody */
  readonly judge?: (question: Question, answer: string, signal?: AbortSignal) => Promise<Verdict>;
  /** Asks the first questions of each set again, one at a time, for the time without batching. @default 0 */
  readonly alone?: number;
  /** Ranks that all evaluate the same, each asks a part of the questions; without `output`. @default one process */
  readonly processGroup?: ProcessGroup | undefined;
  /** Called after every question. */
  readonly onProgress?: (progress: EvaluationProgress) => void;
  readonly signal?: AbortSignal;
}

/** What to evaluate, and how. */
export interface EvaluateOptions extends EvaluateSetsOptions {
  readonly questions: readonly Question[];
}

/** How far an evaluation has come. */
export interface EvaluationProgress {
  readonly set: string;
  readonly done: number;
  readonly total: number;
  /** Mean exact match so far. */
  readonly em: number;
}

/** What `evaluateSets` takes. */
export const evaluateKinds: OptionKinds<EvaluateSetsOptions> = {
  agent: "function",
  seed: wholeKind,
  rules: rulesNames,
  concurrency: countKind,
  output: "string",
  resume: "boolean",
  settings: "object",
  judge: "function",
  alone: wholeKind,
  processGroup: "object",
  onProgress: "function",
  signal: "signal",
};
