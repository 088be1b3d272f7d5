/** What the training of a recipe on the world writes: figures before and after each stage, and its line by line account. */
import type { MemoryFigures } from "../../../../lib/rollout/memory-figures.ts";
import type { Difference } from "../../recipes/world-training.ts";
import type { HeldOut } from "../held-out.ts";

const names = [
  ...(["reward", "em", "f1", "searchShare", "rounds", "invalidActions", "secondsPerQuestion"] as const),
];

type Means = Readonly<Record<(typeof names)[number], number>>;

/** Means over the held-out questions. */
export interface RecipeFigures extends Means {
  /** Of agents with a memory stack. */
  readonly memory?: MemoryFigures;
}

/** One stage of a recipe. */
export interface StageSummary {
  readonly stage: string;
  /** Steps taken; fewer than planned when the stage had reached its end before. */
  readonly steps: number;
  readonly before: RecipeFigures;
  readonly after: RecipeFigures;
  /** Where its sizes are not the recipe's own. */
  readonly differences: readonly Difference[];
}

/** What more of the start's imitation gives in place of RL, by the last stage's recipe. */
export interface ControlSummary extends RecipeFigures {
  /** Demonstrations, as many as all stages have rollouts. */
  readonly samples: number;
}

/** The content of `summary.json`. */
export interface RecipeSummary {
  readonly seed: number;
  /** Held-out questions of each evaluation. */
  readonly questions: number;
  readonly stages: readonly StageSummary[];
  readonly control?: ControlSummary | undefined;
}

/** The figures of one evaluation. */
export function recipeFigures(result: HeldOut): RecipeFigures {
  const means = Object.fromEntries(names.map((name) => [name, result[name]])) as Means;
  return result.memory ? { ...means, memory: result.memory } : means;
}

/** One evaluation as a line of progress. */
export function recipeFiguresLine({ reward, em, f1, searchShare, rounds, memory }: HeldOut): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;
  const figures = `reward ${reward.toFixed(3)}  EM ${percent(em)}  F1 ${percent(f1)}`;
  const searched = `searched ${percent(searchShare)}  rounds ${rounds.toFixed(2)}`;
  return `${figures}  ${searched}${memory ? `  ${memoryLine(memory)}` : ""}`;
}

/** What a memory stack was used for, as part of a line. */
function memoryLine({ backtrackShare, summaryShare, visibleTokens, saidTokens }: MemoryFigures): string {
  const used = `took back ${(100 * backtrackShare).toFixed(1)}%  summed up ${(100 * summaryShare).toFixed(1)}%`;
  return `${used}  visible ${visibleTokens.toFixed(0)} of ${saidTokens.toFixed(0)} tokens`;
}

/** One setting that is not the recipe's own, as a line. */
export function differenceLine({ name, own, used }: Difference): string {
  const show = (value: unknown): string => (value === undefined ? "none" : JSON.stringify(value));
  return `${name} ${show(used)} instead of ${show(own)}`;
}
