/** A small reinforcement-learning run; also a program of its own, so that a test can kill it: `rl-run.js FOLDER [STEPS]`. */
import { pathToFileURL } from "node:url";
import { native } from "../../../lib/base/addon/native.ts";
import type { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { Model } from "../../../lib/model/model.ts";
import type { Sampling } from "../../../lib/rollout/seams.ts";
import type { Segment, Trajectory } from "../../../lib/rollout/trajectory.ts";
import { type Algorithm, algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { schedule } from "../../../lib/train/algorithm/schedule.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import type { LearnerOptions } from "../../../lib/train/learner/learner-options.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { rl } from "../../../lib/train/rl.ts";
import type { RlMetrics, RlOptions, SampleRollouts } from "../../../lib/train/rl-options.ts";
import { RankRoles } from "../../../lib/train/roles/rank-roles.ts";
import { rollOut } from "../../../lib/train/roles/roll-out.ts";
import { tinyModel } from "../tiny.ts";

/** The token that is rewarded. */
export const wantedToken = 7;

const questions = [0, 1, 2, 3].map((i) => ({ id: `q${i}`, question: `${i}`, answers: ["x"] }));

/**
 * Two turns of three tokens with an observation between them, which `between` may hold up; `onEnd` gets what the sequence
 * held.
 */
export function rolloutsOn(
  engine: Engine,
  onEnd?: (tokens: Int32Array) => void,
  between?: () => Promise<void>,
): SampleRollouts {
  const rolloutOf = async (
    id: string,
    questionId: string,
    {
      seed,
      sampling,
      signal,
    }: { readonly seed: number; readonly sampling?: Sampling; readonly signal?: AbortSignal },
  ): Promise<Trajectory> => {
    const prompt = Int32Array.of(1, 2, 10 + Number(questionId.slice(1)));
    const sequence = engine.open(prompt, { seed });
    const segments: Segment[] = [{ kind: "prompt", tokens: prompt, text: "" }];
    let weightsVersion = 0;
    for (const observation of [Int32Array.of(20, wantedToken, 21), undefined]) {
      const { ids, logprobs, ...span } = await sequence.generate({ maxTokens: 3, signal, ...sampling });
      weightsVersion = span.weightsVersion;
      const { versionRuns } = span;
      segments.push({ kind: "policy", tokens: ids, logprobs, versionRuns, text: "" });
      if (observation === undefined) continue;
      await between?.();
      sequence.append(observation);
      segments.push({ kind: "observation", tokens: observation, text: "" });
    }
    onEnd?.(sequence.tokens);
    sequence.close();
    const timings = { generateMs: 0, searchMs: 0, totalMs: 0 };
    const counts = { turns: 2, rounds: 1, queries: [], invalidActions: 0, failures: 0 };
    return { id, questionId, segments, stop: "eos", timings, weightsVersion, ...counts };
  };
  return ({ id }, { samples, seed, sampling, signal }) =>
    Promise.all(
      Array.from({ length: samples }, (_, i) =>
        rolloutOf(`${id}#${i}`, id, { seed: seed + i, sampling, signal }),
      ),
    );
}

/** Share of the policy's tokens that are the wanted one. */
export function shareOfWanted({ segments }: Trajectory): number {
  const tokens = segments.filter(({ kind }) => kind === "policy").flatMap((segment) => [...segment.tokens]);
  return tokens.filter((token) => token === wantedToken).length / tokens.length;
}

/** What a run of the bandit varies. */
export interface BanditOptions {
  readonly dtype?: Model["dtype"];
  /** A folder whose numbers are read when they are needed. @default a tiny model */
  readonly loaded?: string | undefined;
  readonly algorithm: Algorithm;
  readonly steps: number;
  readonly folder?: string;
  /** @default 8 */
  readonly samples?: number;
  readonly oldLogprobs?: "trainer" | "rollout";
  /** What the reward of a step counts, by the step from 0. @default 1 */
  readonly rewardFactor?: (step: number) => number;
  readonly collapse?: RlOptions["collapse"];
  readonly best?: NonNullable<RlOptions["run"]>["best"];
  /** @default true */
  readonly logTokens?: boolean;
  readonly onStep?: (metrics: RlMetrics, trajectories: readonly Trajectory[]) => unknown;
  readonly signal?: AbortSignal;
  readonly staleness?: number | undefined;
  readonly processGroup?: ProcessGroup | undefined;
  /** Whether the ranks share the model instead, and this one trains. */
  readonly sharesModel?: boolean | undefined;
  readonly learner?: Omit<LearnerOptions, "processGroup">;
  /** Of the process group, so many that only generate. @default all generate and train */
  readonly rolloutRanks?: number | undefined;
  /** Evaluates after each step, on ranks that generate where there are such. */
  readonly evaluate?: (model: Model) => Promise<Readonly<Record<string, number>>>;
  /** Sees the weights that the run ends with. */
  readonly onEnd?: (model: Model) => Promise<void>;
}

async function loadedModel(folder: string, dtype: Model["dtype"] = "float32"): Promise<Model> {
  await native().setNumThreads(1);
  return await Model.load(folder, { dtype, isDeferred: true });
}

/** Trains on the bandit. */
export async function runBandit({
  algorithm,
  steps,
  folder,
  samples = 8,
  dtype,
  loaded,
  oldLogprobs = "trainer",
  rewardFactor = () => 1,
  collapse,
  best,
  logTokens,
  onStep,
  signal,
  staleness,
  processGroup,
  sharesModel = false,
  rolloutRanks,
  evaluate,
  learner,
  onEnd,
}: BanditOptions): Promise<void> {
  await using roles =
    rolloutRanks === undefined ? undefined : await RankRoles.open(processGroup!, { rolloutRanks });
  // A rank that generates has other weights until it gets those that are trained.
  await using model =
    loaded === undefined
      ? await tinyModel(roles?.isRollout ? 5 : 1, dtype, sharesModel ? processGroup : undefined)
      : await loadedModel(loaded, dtype);
  if (sharesModel && processGroup!.rank > 0) return await model.follow();
  await using engine = await Engine.open(model, { numBlocks: 100, blockTokens: 16 });
  const evaluation = evaluate && { every: 1, isFirst: true, evaluate: () => evaluate(model) };
  const batch = { questions: 4, samples, maxTokens: 64, oldLogprobs, staleness: staleness ?? 0 };
  const rollout = rolloutsOn(engine);
  if (roles?.isRollout) {
    const task = { questions, rollout, reward: shareOfWanted };
    await rollOut({
      ...{ policy: model, roles, task, algorithm, batch, steps, seed: 11 },
      evaluation,
      signal,
    });
    await onEnd?.(model);
    return;
  }
  await using reference = await model.clone();
  const options = {
    weightDecay: 0,
    ...learner,
    processGroup: sharesModel ? undefined : (roles?.training ?? processGroup),
  };
  await using trainer = await Trainer.open(model, options);
  const critic = algorithm.advantage === "gae" ? await Critic.open(model, options) : undefined;
  await rl({
    learners: { trainer, reference, critic },
    task: {
      questions,
      rollout,
      reward: (trajectory) => rewardFactor(trainer.numSteps) * shareOfWanted(trajectory),
    },
    algorithm,
    ...{ batch, steps, roles, evaluation },
    learningRate: { policy: schedule({ peak: 1e-2 }) },
    seed: 11,
    run: folder === undefined ? undefined : { folder, checkpointEvery: 3, best, logTokens },
    onStep: async (metrics, trajectories) => void (await onStep?.(metrics, trajectories)),
    collapse,
    signal,
  });
  critic?.close();
  await onEnd?.(model);
}

export const rlRunSteps = 10;

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const onStep = ({ step }: RlMetrics): unknown => process.stdout.write(`${step}\n`);
  const [folder = "", steps = rlRunSteps] = process.argv.slice(2);
  await runBandit({ algorithm: algorithms.ppo, steps: Number(steps), folder, onStep });
}
