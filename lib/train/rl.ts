/** Reinforcement learning: rollouts, rewards, advantages, update, metrics, evaluation, checkpoint; step by step. */

import { performance } from "node:perf_hooks";
import { checkOptions } from "../base/check-options.ts";
import { defined } from "../base/defined.ts";
import { SeekError } from "../base/errors.ts";
import { mixSeed } from "../base/random.ts";
import { throwIfAnyAborted } from "../comm/agreement.ts";
import { checkQuestions } from "../data/question.ts";
import { nextKlCoef } from "./algorithm/kl-target.ts";
import { type Collapse, CollapseGuard } from "./collapse.ts";
import { toExperience } from "./experience.ts";
import { checkOffPolicy, offPolicyAlgorithm } from "./pipeline/off-policy.ts";
import { RolloutPipeline } from "./pipeline/rollout-pipeline.ts";
import { StepVersions, stalenessMetrics } from "./pipeline/staleness.ts";
import { groupMetrics, isOfPool, rolloutMetrics, workerMetrics } from "./rl-metrics.ts";
import { type RlMetrics, type RlOptions, rlKinds, rlRequired, rlSettings } from "./rl-options.ts";
import { isEvaluated, LoopRanks } from "./roles/loop-ranks.ts";
import { explainNonFinite } from "./run/non-finite.ts";
import { type Run, withRun } from "./run/run.ts";
import type { RunSubject } from "./run/run-state.ts";
import { checkSamples, type RewardedRollout, type StepRollouts, scoredOf } from "./step-rollouts.ts";
import { type LearntRollouts, learntRollouts, trajectoryRows } from "./trajectory-rows.ts";
import { update } from "./update.ts";

const noWeights =
  "expected 0 with zero 3, which parts the weights that rollouts ahead would go on with (remedy: zero 2, or roles)";

function check({ learners, algorithm, batch, task, collapse, run, roles }: RlOptions): void {
  const wrong = (message: string): never => {
    throw new SeekError("ERR_ARGUMENT", message);
  };
  if (algorithm.advantage === "gae" && !learners.critic) wrong("learners.critic: GAE needs one, got none");
  if (typeof batch.samples !== "function") checkSamples(batch.samples ?? 1, algorithm);
  if (algorithm.kl?.adaptive && algorithm.kl.in !== "reward") {
    wrong("algorithm.kl.adaptive: expected a KL in the reward, got one in the loss");
  }
  if (algorithm.kl !== undefined && !learners.reference) wrong("learners.reference: kl needs one, got none");
  checkOffPolicy(algorithm, batch);
  if (collapse?.action === "rollback" && run?.best === undefined)
    wrong("collapse.action: rollback needs run.best, which keeps the best checkpoint");
  if (roles?.isRollout)
    wrong(`roles: expected a rank that trains, got rank ${roles.job.rank}, which calls rollOut`);
  if (roles !== undefined && learners.trainer.processGroup !== roles.training)
    wrong("learners.trainer: expected one whose processGroup is roles.training");
  if (batch.staleness && learners.trainer.partsWeights && roles === undefined)
    wrong(`batch.staleness: ${noWeights}, got ${batch.staleness}`);
  if (task.questions.length === 0) wrong("task.questions: expected at least one");
  checkQuestions("task.questions", task.questions);
}

async function learn(step: number, rewarded: readonly RewardedRollout[], options: RlOptions) {
  const { learners, batch, learningRate, run, seed = 0 } = options;
  const algorithm = offPolicyAlgorithm(options.algorithm, batch);
  // The log has what the trainer made of each token, also of algorithms that can do without it.
  const isLogged = run !== undefined && run.logTokens !== false;
  // What each worker's log-probabilities are worth is told too.
  const isScored = isLogged || rewarded.some(isOfPool);
  const experience = await toExperience(rewarded, learners, algorithm, { ...batch, isScored });
  const rates = {
    policy: learningRate.policy(step),
    critic: (learningRate.critic ?? learningRate.policy)(step),
    seed: mixSeed(seed, `update ${step}`, 0),
  };
  const metrics = await explainNonFinite(step + 1, update(experience, learners, algorithm, batch, rates));
  const { gap, referenceKl, trajectoryKl = 0, explainedVariance, meanValue } = experience;
  const { coef = 0, adaptive } = algorithm.kl ?? {};
  const isStale = (batch.staleness ?? 0) > 0;
  const measured = { kl: trajectoryKl, trajectories: rewarded.length };
  const learnt = defined({
    ...metrics,
    ...workerMetrics(rewarded, experience),
    // Of tokens that older weights sampled, the update's own measure is no gap between engine and trainer.
    "logprob_gap/mean": gap?.mean ?? (isStale ? undefined : metrics["logprob_gap/mean"]),
    "logprob_gap/max": gap?.max ?? (isStale ? undefined : metrics["logprob_gap/max"]),
    "policy/kl_reference": referenceKl ?? metrics["policy/kl_reference"],
    "policy/kl_coef": adaptive && coef,
    "value/explained_variance": explainedVariance,
    "value/mean": meanValue,
    lr: rates.policy,
    "value/lr": learners.critic && rates.critic,
    weights_version: learners.trainer.numSteps,
  });
  return {
    learnt,
    rollouts: learntRollouts(rewarded, experience),
    klCoef: adaptive && nextKlCoef(coef, measured, adaptive),
  };
}

async function evaluation(step: number, options: RlOptions) {
  if (!isEvaluated(step, options)) return {};
  return options.roles === undefined ? options.evaluation?.evaluate(step) : options.roles.evaluated();
}

async function evaluateFirst(options: RlOptions, { run, ranks }: Loop): Promise<void> {
  if ((run?.resumedStep ?? 0) > 0 || !isEvaluated(0, options)) return;
  await throwIfAnyAborted(ranks.all, options.signal, "rl");
  const figures = await evaluation(0, options);
  await run?.logMetrics({ step: 0, ...figures });
}

/** What goes on from step to step. */
interface Loop {
  readonly run: Run | undefined;
  readonly ranks: LoopRanks;
  readonly rollouts: RolloutPipeline<StepRollouts>;
  readonly versions: StepVersions;
}

async function rlStep(index: number, options: RlOptions, loop: Loop) {
  const { run, ranks, rollouts: pipeline, versions } = loop;
  const step = index + 1;
  const started = performance.now();
  const groups = await pipeline.take(index);
  const { trainer } = options.learners;
  await throwIfAnyAborted(ranks.all, options.signal, "rl");
  const sampled = groups.all.flat();
  const rewarded = scoredOf(sampled, step);
  const between = performance.now();
  versions.begin(trainer.policy.weightsVersion);
  const trajectories = sampled.map(({ trajectory }) => trajectory);
  const { learnt, rollouts, klCoef } = await learn(index, scoredOf(groups.kept.flat(), step), options);
  // What generates needs them whole.
  await trainer.gatherWeights();
  await options.roles?.shareWeights(trainer.policy);
  const own = {
    step,
    ...rolloutMetrics(rewarded),
    ...groupMetrics(groups.all),
    ...stalenessMetrics(trajectories, versions),
    "reward/unscored": sampled.length - rewarded.length,
    "reward/failed": sampled.filter(({ failure }) => failure !== undefined).length,
    ...learnt,
    "seconds/rollout": (between - started) / 1000,
    "seconds/train": (performance.now() - between) / 1000,
    ...(await evaluation(step, options)),
  };
  // What the loop decides by its metrics must be the same on all ranks: clocks are not.
  const metrics: typeof own = (await trainer.processGroup?.broadcast("metrics", own)) ?? own;
  await run?.logTrajectories(trajectoryRows(step, sampled, rowOptions(rollouts, options)));
  await run?.logMetrics(metrics);
  await options.onStep?.(metrics, trajectories);
  return { metrics, klCoef };
}

function rowOptions(learnt: LearntRollouts, { learners, algorithm, run }: RlOptions) {
  const firstVersion = sinceStart(learners);
  return { firstVersion, learnt, lossOn: algorithm.lossOn, tokens: run?.logTokens };
}

/** What a version counts besides optimiser steps: it begins anew with every process, and a log does not. */
function sinceStart({ trainer: { policy, numSteps } }: RlOptions["learners"]): number {
  return policy.weightsVersion - numSteps;
}

function subjectOf(options: RlOptions, ranks: LoopRanks): RunSubject {
  const { learners, learningRate, steps, seed = 0 } = options;
  const { trainer, critic } = learners;
  const learningRates = { ...learningRate, critic: learningRate.critic ?? learningRate.policy };
  const { seed: _, steps: __, ...settings } = rlSettings(options);
  const endWith = (error: unknown): Promise<void> => ranks.endWith(error);
  return { kind: "rl", seed, steps, settings, learningRates, trainer, critic, endWith };
}

/** The guard of a run, which knows what the steps before a resume were like; none where nothing is to be done. */
async function openGuard({ collapse }: RlOptions, run: Run | undefined): Promise<CollapseGuard | undefined> {
  if (collapse?.action === "ignore") return undefined;
  const guard = new CollapseGuard(collapse);
  for (const metrics of (await run?.loggedMetrics()) ?? []) if (metrics.step !== 0) guard.add(metrics);
  return guard;
}

/** Goes back to the best weights where that is asked for. @throws ERR_STATE where it is not, or there are none */
async function answerCollapse(
  step: number,
  seen: Collapse,
  { collapse = {} }: RlOptions,
  run: Run | undefined,
): Promise<void> {
  const best = collapse.action === "rollback" ? await run?.rollBack(step) : undefined;
  if (best !== undefined) return collapse.onRollback?.(seen, best);
  const remedy =
    "start again from an earlier checkpoint with a lower learning rate, a KL term or more samples, or ignore collapses";
  throw new SeekError(
    "ERR_STATE",
    `step ${step}: the policy has collapsed: ${seen.message}. Remedy: ${remedy}`,
  );
}

/** The same options with the weight of the KL that an adaptive controller has come to. */
function withKlCoef(options: RlOptions, coef: number | undefined): RlOptions {
  const { kl, ...algorithm } = options.algorithm;
  if (kl === undefined || coef === undefined) return options;
  return { ...options, algorithm: { ...algorithm, kl: { ...kl, coef } } };
}

/**
 * Improves a policy by its rewards. With a run folder, a killed training goes on from its last checkpoint and ends with
 * the same weights, bit for bit (law 5): questions, rollouts and orders follow from `seed` and the step alone. One that
 * its signal or a failing rollout ends leaves a checkpoint of its last whole step. With `batch.staleness` rollouts of the next
 * steps are under way while a step is computed; which weights sampled which token then depends on the clock, and a resumed run
 * begins what was under way again, under the checkpoint's weights.
 *
 * @param options - learners, task, algorithm, sizes, schedules, run folder
 * @returns the last step's metrics; undefined when the run was finished already
 * @throws ERR_ARGUMENT when the algorithm lacks a critic, a reference or samples; ERR_ABORTED when the signal fires
 * @example
 * const { format, limits, sampling, reward } = ragR1({ queries: "multi" });
 * const parts = { engine, tokenizer, search, format, limits: { ...limits, maxResponseTokens: 8 }, sampling };
 * const metrics = await rl({
 *   learners: { trainer },
 *   task: { questions, reward, rollout: searchAgent(parts).rollouts },
 *   algorithm: algorithms.rloo,
 *   batch: { questions: 1, samples: 2 },
 *   steps: 1,
 *   learningRate: { policy: schedule({ peak: 1e-6 }) },
 * });
 * assert.equal(metrics?.step, 1);
 */
export async function rl(options: RlOptions): Promise<RlMetrics | undefined> {
  checkOptions("rl", options, rlKinds, rlRequired);
  check(options);
  const { steps, signal, roles, learners } = options;
  const { staleness = 0 } = options.batch;
  const training = learners.trainer.processGroup;
  // Both outlive the run: where it fails, the others are told before this rank waits for them here.
  await using ranks = await LoopRanks.open({ roles, training, staleness });
  await using rollouts = new RolloutPipeline<StepRollouts>(
    { steps, staleness, signal },
    ranks.rollingOut(options),
  );
  return await withRun(options.run, subjectOf(options, ranks), (run) =>
    runSteps(options, { run, ranks, rollouts, versions: new StepVersions() }),
  );
}

async function runSteps(options: RlOptions, loop: Loop): Promise<RlMetrics | undefined> {
  const { steps, signal, roles, learners } = options;
  const { run, ranks } = loop;
  const [first, guard] = [run?.resumedStep ?? 0, await openGuard(options, run)];
  let last: RlMetrics | undefined;
  let hasEnded = run?.hasEnded ?? false;
  let klCoef = run?.resumedKlCoef;
  // What generates needs them whole, before the first step too.
  await learners.trainer.gatherWeights();
  await roles?.begin(learners.trainer.policy, rlSettings(options), { step: first, hasEnded });
  await evaluateFirst(options, loop);
  for (let step = first; step < steps && !hasEnded; step += 1) {
    await throwIfAnyAborted(ranks.all, signal, "rl");
    const done = await rlStep(step, withKlCoef(options, klCoef), loop);
    last = done.metrics;
    klCoef = done.klCoef;
    const collapse = guard?.add(last);
    hasEnded = collapse === undefined && (options.endWhen?.(last) ?? false);
    await roles?.goesOn(collapse === undefined && !hasEnded);
    if (collapse !== undefined) {
      await answerCollapse(step + 1, collapse, options, run);
      break;
    }
    await run?.finishStep(last, { isLast: step + 1 === steps, hasEnded, klCoef });
  }
  return last;
}
