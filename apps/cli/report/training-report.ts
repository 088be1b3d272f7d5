/** What a training prints while it runs: its settings, a line for each step, and warnings that name a remedy. */
import { bytesText } from "../../../lib/base/disk/free-space.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import type { Algorithm } from "../../../lib/train/algorithm/algorithm.ts";
import type { MemoryPlan } from "../../../lib/train/memory/plan.ts";
import type { RlMetrics } from "../../../lib/train/rl-options.ts";
import type { SftMetrics } from "../../../lib/train/sft.ts";
import { durationText } from "./pace.ts";

const numberText = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 0 });

/** What is trained. */
interface TrainedModel {
  readonly model: string;
  readonly parameters: number;
  readonly dtype: string;
  /** How they are quantised, where they are. */
  readonly weights: string | undefined;
  readonly device: string;
  /** Of an adapter that is trained in place of the weights. */
  readonly adapterParameters: number | undefined;
}

/** What a training is about to do. */
interface TrainingSettings {
  readonly recipe: string;
  readonly numQuestions: number;
}

/** The model of a training, and the adapter on it. */
export function modelLines(trained: TrainedModel): string[] {
  const { model, parameters, dtype, weights, device, adapterParameters } = trained;
  const form = weights === undefined ? dtype : `${dtype}, ${weights}`;
  const line = `model      ${model}: ${numberText(parameters)} parameters, ${form} on ${device}`;
  if (adapterParameters === undefined) return [line];
  return [line, `adapter    ${numberText(adapterParameters)} parameters are trained`];
}

/** The settings of a training, a line each. */
export function settingsLines(
  { recipe, numQuestions }: TrainingSettings,
  { algorithm, training, sampling }: Pick<Recipe, "algorithm" | "training" | "sampling">,
): string[] {
  const { steps, batchQuestions, samples, learningRate, warmupSteps, decay } = training;
  const { epochs = 1, miniBatches = 1 } = algorithm;
  return [
    `recipe     ${recipe}; ${algorithmText(algorithm)}`,
    `data       ${numberText(numQuestions)} questions; ${batchQuestions} x ${samples} rollouts a step at temperature ${sampling.temperature ?? 1}`,
    `updates    ${steps} steps of ${epochs * miniBatches} (epochs ${epochs} x mini-batches ${miniBatches})`,
    `rate       ${learningRate}, ${warmupText(warmupSteps, steps)}, then ${decay === "linear" ? "linearly to 0" : decay}`,
  ];
}

/** What a training takes at its peak, part by part; of how much that is free, where that is a GPU's. */
export function memoryLine({ total, ...parts }: MemoryPlan, freeBytes?: number): string {
  const held = Object.entries(parts).filter(([, bytes]) => bytes > 0);
  const list = held.map(([name, bytes]) => `${name} ${bytesText(bytes)}`).join(", ");
  const free = freeBytes === undefined ? "" : `, ${bytesText(freeBytes)} are free`;
  return `memory     ${bytesText(total)} at most${free}: ${list}`;
}

function warmupText(warmupSteps: number, steps: number): string {
  if (warmupSteps === 0) return "no warm-up";
  const share = Math.round((100 * warmupSteps) / steps);
  return `warm-up over ${warmupSteps} steps (${share} % of the run)`;
}

function algorithmText({
  advantage,
  clip,
  kl,
  aggregation = "token-mean",
  entropyCoef = 0,
}: Algorithm): string {
  const { low, high } = clip ?? { low: 0.2, high: 0.2 };
  const distance = kl === undefined ? "no KL" : `KL ${kl.estimator} x ${kl.coef} in the ${kl.in}`;
  const means = typeof aggregation === "string" ? aggregation : `/ ${aggregation.tokensPerSequence} tokens`;
  return `advantage ${advantage}, clip ${low}/${high}, ${distance}, ${means}, entropy x ${entropyCoef}`;
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** One line about a step: what it earned, how far the policy moved, how fast, and when the run will be done. */
export function stepLine(metrics: RlMetrics, steps: number, secondsLeft: number | undefined): string {
  const seconds = (metrics["seconds/rollout"] ?? 0) + (metrics["seconds/train"] ?? 0);
  const kl = metrics["policy/kl_reference"] ?? metrics["policy/kl"] ?? 0;
  const em = metrics["eval/em"];
  return [
    `step ${metrics.step}/${steps}`,
    `reward ${(metrics["reward/total"] ?? 0).toFixed(3)}`,
    ...(em === undefined ? [] : [`EM ${(100 * em).toFixed(1)}`]),
    `KL ${kl.toPrecision(2)}`,
    `entropy ${(metrics["policy/entropy"] ?? 0).toFixed(3)}`,
    `search ${percent(metrics["search/share"] ?? 0)}`,
    `${numberText((metrics.tokens ?? 0) / Math.max(seconds, 1e-9))} tokens/s`,
    `${seconds.toFixed(1)} s`,
    ...(secondsLeft === undefined ? [] : [`ETA ${durationText(secondsLeft)}`]),
  ].join("  ");
}

/** One line about a step of supervised fine-tuning. */
export function sftStepLine(metrics: SftMetrics, steps: number, secondsLeft: number | undefined): string {
  const seconds = metrics["seconds/train"];
  return [
    `step ${metrics.step}/${steps}`,
    `loss ${metrics.loss.toFixed(4)}`,
    `grad norm ${metrics.grad_norm.toPrecision(3)}`,
    `${numberText(metrics.tokens / Math.max(seconds, 1e-9))} tokens/s`,
    `${seconds.toFixed(1)} s`,
    ...(secondsLeft === undefined ? [] : [`ETA ${durationText(secondsLeft)}`]),
  ].join("  ");
}

/** Steps without a change of the reward after which a training is said to stand still. */
const flatSteps = 20;

/** Says what makes rollouts teach nothing, once each time it begins rather than at every step. */
export class TrainingWarnings {
  readonly #rewards: number[] = [];
  readonly #said = new Set<string>();

  /** The warnings of a step. */
  of(metrics: RlMetrics, trajectories: readonly Trajectory[]): string[] {
    this.#rewards.push(metrics["reward/total"] ?? 0);
    const found = [...rolloutWarnings(metrics, trajectories), ...this.#flat()];
    const fresh = found.filter(([kind]) => !this.#said.has(kind));
    this.#said.clear();
    for (const [kind] of found) this.#said.add(kind);
    return fresh.map(([, text]) => text);
  }

  #flat(): Warning[] {
    if (this.#rewards.length < 2 * flatSteps) return [];
    const recent = this.#rewards.slice(-flatSteps);
    const earlier = this.#rewards.slice(-2 * flatSteps, -flatSteps);
    const [a, b] = [meanOf(earlier), meanOf(recent)];
    const noise = Math.sqrt((varianceOf(earlier) + varianceOf(recent)) / flatSteps);
    if (Math.abs(b - a) > noise || b > 0.95) return [];
    const what = `the reward has not moved for ${2 * flatSteps} steps (${a.toFixed(3)}, ${b.toFixed(3)})`;
    return [["flat", `${what}; see whether it can: seekrl lint, or a higher --learning-rate`]];
  }
}

/** Its kind, and what is said. */
type Warning = readonly [kind: string, text: string];

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

function varianceOf(values: readonly number[]): number {
  const centre = meanOf(values);
  return meanOf(values.map((value) => (value - centre) ** 2));
}

function rolloutWarnings(metrics: RlMetrics, trajectories: readonly Trajectory[]): Warning[] {
  const { length } = trajectories;
  const reasons = trajectories.flatMap(({ failureReasons = [] }) => failureReasons);
  const empty = trajectories.filter(({ stop, turns }) => stop === "context" && turns === 0).length;
  const unscored = metrics["reward/unscored"] ?? 0;
  const warnings: [string, string, boolean][] = [
    ["unscored", `${unscored} of ${length} trajectories were not rewarded and left out`, unscored > 0],
    ["failures", `${reasons.length} searches failed, the first one with: ${reasons[0]}`, reasons.length > 0],
    [
      "window",
      `${empty} prompts do not fit the window and got no answer; remedy: shorter prompts, or a model with a longer window`,
      empty > 0,
    ],
    [
      "equal",
      "all rollouts of each question earned the same: nothing was learnt; remedy: more --samples, easier or harder questions, a higher --temperature",
      metrics["groups/equal"] === 1 && trajectories.length > (metrics["groups/asked"] ?? 0),
    ],
    [
      "searches",
      "no rollout searched; remedy: format learning first (seekrl sft), or a reward for searching (--recipe r1-searcher)",
      metrics["search/share"] === 0,
    ],
  ];
  return warnings.flatMap(([kind, text, holds]) => (holds ? [[kind, text] as const] : []));
}
