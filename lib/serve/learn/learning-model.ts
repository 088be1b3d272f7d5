/** A model that learns from its own traffic: a version that most requests get, and a candidate that is tried on some. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { checkOptions } from "../../base/check-options.ts";
import { Journal } from "../../base/files/journal.ts";
import { mixSeed } from "../../base/random.ts";
import { Adapter } from "../../model/adapter.ts";
import { type Algorithm, algorithms } from "../../train/algorithm/algorithm.ts";
import { toExperience } from "../../train/experience.ts";
import { Trainer } from "../../train/learner/trainer.ts";
import type { Rewarded } from "../../train/step-rollouts.ts";
import { update } from "../../train/update.ts";
import type { ModelText, ReplyEvent, ReplyRequest, ServedModel } from "../reply/reply.ts";
import { type Arm, Canary, type Verdict } from "./canary.ts";
import { type LearnEvent, type LearnOptions, learnKinds, learnRequired } from "./options.ts";
import type { ScoredChoice } from "./recorder.ts";
import { Version } from "./version.ts";

const defaults = { share: 0.25, batch: 32, learningRate: 5e-5, klCoef: 0.001, seed: 0 } as const;
const canaryDefaults = { window: 128, least: 32, errors: 2 } as const;

/** Log-probabilities are the engine's, so that older samples count by how likely they are now. */
const fromRollout = { oldLogprobs: "rollout" } as const;

/** A version, and what trains it. */
interface Candidate {
  readonly version: Version;
  readonly trainer: Trainer;
}

interface Opened extends Candidate {
  readonly stable: Version;
  readonly log: Journal | undefined;
}

function algorithmOf({ algorithm = "reinforce++", klCoef = defaults.klCoef }: LearnOptions): Algorithm {
  return { ...algorithms[algorithm], kl: { in: "reward", estimator: "k1", coef: klCoef }, miniBatches: 1 };
}

/** Answers with one of two versions, and trains the second one by what its replies were worth. */
export class LearningModel implements ServedModel {
  readonly id: string;
  readonly contextTokens: number;
  readonly parent: string | undefined;
  readonly text: ModelText | undefined;
  readonly #options: LearnOptions;
  readonly #canary: Canary;
  readonly #log: Journal | undefined;
  #stable: Version;
  #candidate: Candidate;
  #scored: ScoredChoice[] = [];
  #isDeciding = false;
  #numVersions = 2;
  #numAsked = 0;
  #numSteps = 0;
  /** Steps, promotions and rollbacks, one after the other. */
  #work: Promise<void> = Promise.resolve();

  private constructor(options: LearnOptions, { stable, log, ...candidate }: Opened) {
    const { id, contextTokens, parent, text } = stable.model;
    this.id = options.name;
    this.contextTokens = contextTokens;
    this.parent = parent ?? id;
    this.text = text;
    this.#options = options;
    this.#canary = new Canary({ ...canaryDefaults, ...options.canary });
    this.#stable = stable;
    this.#candidate = candidate;
    this.#log = log;
  }

  /**
   * Opens one, with the adapter of its folder if there is one.
   *
   * @param options - see {@link LearnOptions}
   * @returns what is served, to be closed
   * @throws ERR_FORMAT for an adapter of another model; ERR_MEMORY when optimiser and adapters do not fit
   */
  static async open(options: LearnOptions): Promise<LearningModel> {
    checkOptions("learn", options, learnKinds, learnRequired);
    const { model, folder, lora, seed = defaults.seed } = options;
    const isKept = folder !== undefined && existsSync(join(folder, "adapter_config.json"));
    const adapter = isKept
      ? await Adapter.load(model, folder)
      : await Adapter.create(model, { rank: 16, ...lora, seed });
    const stable = new Version(1, adapter, await options.serve(adapter));
    const copy = await adapter.clone();
    const version = new Version(2, copy, await options.serve(copy));
    const log = folder === undefined ? undefined : await openLog(join(folder, "metrics.jsonl"));
    return new LearningModel(options, { stable, version, trainer: await Trainer.open(copy), log });
  }

  /** The version that answers the next request. */
  choose(): Version {
    const { share = defaults.share, seed = defaults.seed } = this.#options;
    this.#numAsked += 1;
    const isTried = mixSeed(seed, "candidate", this.#numAsked) / 2 ** 32 < share;
    return isTried ? this.#candidate.version : this.#stable;
  }

  reply(request: ReplyRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, void, undefined> {
    return this.choose().reply(request, signal);
  }

  /** Takes a reply that was scored; learns from it, and decides about the candidate by it. */
  score(choice: ScoredChoice): void {
    if (choice.model !== this.id) return;
    if (choice.isLearnable) this.#scored.push(choice);
    const arm = this.#armOf(choice);
    const verdict = arm === undefined ? "open" : this.#canary.add(arm, choice.reward);
    if (verdict !== "open") this.#decide(verdict);
    else if (this.#scored.length >= (this.#options.batch ?? defaults.batch)) this.#then(() => this.#step());
  }

  /** Waits for what is under way, and keeps the stable version. */
  async close(): Promise<void> {
    await this.#work;
    await this.#log?.close();
    this.#candidate.trainer.close();
    this.#candidate.version.retire();
    this.#stable.retire();
  }

  #then(work: () => Promise<LearnEvent | undefined>): void {
    this.#work = this.#work
      .then(work)
      .catch((error: unknown): LearnEvent => ({ type: "failed", error }))
      .then((event) => event && this.#options.onEvent?.(event));
  }

  /** A step on all that was scored since the last one. */
  async #step(): Promise<LearnEvent | undefined> {
    const { batch = defaults.batch, learningRate = defaults.learningRate, model } = this.#options;
    if (this.#scored.length < batch) return undefined;
    const choices = this.#scored.splice(0);
    const algorithm = algorithmOf(this.#options);
    const learners = { trainer: this.#candidate.trainer, reference: model };
    const experience = await toExperience(rewardedOf(choices), learners, algorithm, fromRollout);
    const rates = { policy: learningRate, critic: 0, seed: this.#numSteps };
    const learnt = await update(experience, learners, algorithm, {}, rates);
    this.#numSteps += 1;
    const { stable = Number.NaN, candidate = Number.NaN } = this.#canary.means;
    const metrics = {
      ...{ step: this.#numSteps, ...learnt, "policy/kl_reference": experience.referenceKl ?? 0 },
      "reward/mean": choices.reduce((sum, { reward }) => sum + reward, 0) / choices.length,
      ...(Number.isNaN(stable) ? {} : { "reward/stable": stable }),
      ...(Number.isNaN(candidate) ? {} : { "reward/candidate": candidate }),
      "batch/choices": choices.length,
    };
    await this.#log?.add(metrics);
    return { type: "step", step: this.#numSteps, metrics };
  }

  /** Which of the two gave a reply; a version that was replaced meanwhile is neither. */
  #armOf({ version }: ScoredChoice): Arm | undefined {
    if (this.#isDeciding) return undefined;
    if (version === this.#stable.number) return "stable";
    return version === this.#candidate.version.number ? "candidate" : undefined;
  }

  /** Acts on a verdict; what is scored until that is done decides nothing. */
  #decide(verdict: Exclude<Verdict, "open">): void {
    const { stable = 0, candidate = 0 } = this.#canary.means;
    this.#isDeciding = true;
    this.#then(async () => {
      await (verdict === "better" ? this.#promote() : this.#rollBack());
      this.#canary.clear();
      const type = verdict === "better" ? "promoted" : "rolledBack";
      return { type, step: this.#numSteps, stable, candidate };
    });
    this.#then(async () => {
      this.#isDeciding = false;
      return undefined;
    });
  }

  /** What the candidate is now becomes what most requests get; the candidate goes on learning. */
  async #promote(): Promise<void> {
    const adapter = await this.#candidate.version.adapter.clone();
    if (this.#options.folder !== undefined) await adapter.save(this.#options.folder);
    const version = await this.#newVersion(adapter);
    this.#stable.retire();
    this.#stable = version;
  }

  /** What the candidate has learnt is dropped, and what it would have learnt from: it may be what made it worse. */
  async #rollBack(): Promise<void> {
    const { version, trainer } = this.#candidate;
    const adapter = await this.#stable.adapter.clone();
    this.#candidate = { version: await this.#newVersion(adapter), trainer: await Trainer.open(adapter) };
    this.#scored = [];
    trainer.close();
    version.retire();
  }

  async #newVersion(adapter: Adapter): Promise<Version> {
    this.#numVersions += 1;
    return new Version(this.#numVersions, adapter, await this.#options.serve(adapter));
  }
}

async function openLog(path: string): Promise<Journal> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  return Journal.open(path, size);
}

/** Choices that follow the same prompt are one group. */
function rewardedOf(choices: readonly ScoredChoice[]): Rewarded[] {
  const groups = new Map<string, number>();
  return choices.map(({ segments, reward }) => {
    const prompt = segments.find(({ kind }) => kind === "prompt")?.tokens.join() ?? "";
    const group = groups.get(prompt) ?? groups.size;
    groups.set(prompt, group);
    // The text is not trained on.
    return { trajectory: { segments: segments.map((each) => ({ ...each, text: "" })) }, reward, group };
  });
}
