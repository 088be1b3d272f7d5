/** Lines of progress: what a part's evaluations found, and the curve of its reward, which grows downwards. */
import type { QueryMode } from "../../../../lib/text/observation.ts";
import type { RlMetrics } from "../../../../lib/train/rl-options.ts";
import type { ModelEvaluation } from "../model-evaluation.ts";

const percent = (share: number): string => (100 * share).toFixed(1);

/** One evaluation, as a line of progress. */
export function evaluationLine(mode: QueryMode, name: string, { patchy, plain }: ModelEvaluation): string {
  const ems = ({ greedy, drawn }: ModelEvaluation["plain"]): string =>
    `${percent(drawn.em)}% drawn, ${percent(greedy.em)}% greedy`;
  return `${mode.padEnd(6)} ${name}: EM ${ems(patchy)}; plain index ${ems(plain)}`;
}

/** One step of training, as a line of the curve that grows with it. */
export function stepLine(name: string, metrics: RlMetrics, steps: number): string {
  const show = (name: string, digits: number): string => (metrics[name] ?? 0).toFixed(digits);
  const reward = metrics["reward/mean"] ?? 0;
  const step = `${metrics.step}/${steps}`.padStart(2 * `${steps}`.length + 1);
  const curve = `reward ${reward.toFixed(2)} ${bar(name, reward)}`;
  return `${name.padEnd(6)} ${step} ${curve} rounds ${show("search/rounds", 2)}  entropy ${show("policy/entropy", 3)}`;
}

/** Signs of a full bar. */
const barWidth = 30;

/**
 * One step of a curve that grows downwards, a line for each step: the reward as a bar.
 *
 * @param name - of the training: those with parallel queries have bars of their own, since two curves grow by turns
 * @param reward - from 0 to 1
 * @example
 * assert.equal(bar("multi", 0.1), "▒▒▒".padEnd(30, "·"));
 */
export function bar(name: string, reward: number): string {
  const length = Math.round(Math.min(1, Math.max(0, reward)) * barWidth);
  return (name === "multi" ? "▒" : "█").repeat(length).padEnd(barWidth, "·");
}
