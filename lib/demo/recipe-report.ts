/** What the training of a recipe on the world writes: figures before and after each stage, and its line by line account. */
import type { Difference } from "../recipes/world-training.ts";
import type { HeldOut } from "./held-out.ts";

const names = [
  ...(["reward", "em", "f1", "searchShare", "rounds", "invalidActions", "secondsPerQuestion"] as const),
];

/** Means over the held-out questions. */
export type RecipeFigures = Readonly<Record<(typeof names)[number], number>>;

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

/** The content of `summary.json`. */
export interface RecipeSummary {
  readonly seed: number;
  /** Held-out questions of each evaluation. */
  readonly questions: number;
  readonly stages: readonly StageSummary[];
}

/** The figures of one evaluation. */
export function recipeFigures(result: HeldOut): RecipeFigures {
  return Object.fromEntries(names.map((name) => [name, result[name]])) as RecipeFigures;
}

/** One evaluation as a line of progress. */
export function recipeFiguresLine({ reward, em, f1, searchShare, rounds }: HeldOut): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;
  const figures = `reward ${reward.toFixed(3)}  EM ${percent(em)}  F1 ${percent(f1)}`;
  return `${figures}  searched ${percent(searchShare)}  rounds ${rounds.toFixed(2)}`;
}

/** One setting that is not the recipe's own, as a line. */
export function differenceLine({ name, own, used }: Difference): string {
  const show = (value: unknown): string => (value === undefined ? "none" : JSON.stringify(value));
  return `${name} ${show(used)} instead of ${show(own)}`;
}
