/** A model that learns from its own traffic: a version that most requests get, and a candidate that is tried on some. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkOptions } from "../../../lib/base/check-options.ts";
import { mixSeed } from "../../../lib/base/random.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import type { ModelText, ReplyEvent, ReplyRequest, ServedModel } from "../reply/reply.ts";
import { type Arm, Canary, type Verdict } from "./canary.ts";
import { History } from "./history.ts";
import { Level, type Shift } from "./level.ts";
import { type LearnEvent, type LearnOptions, learnKinds, learnRequired } from "./options.ts";
import type { ScoredChoice } from "./recorder.ts";
import { learnFrom } from "./step.ts";
import { Version } from "./version.ts";

const defaults = { share: 0.25, batch: 32, seed: 0 } as const;
const canaryDefaults = { window: 128, least: 32, errors: 3 } as const;

/** A version, and what trains it. */
interface Candidate {
  readonly version: Version;
  readonly trainer: Trainer;
}

interface Opened extends Candidate {
  readonly stable: Version;
  readonly history: History;
}

/**
 * Answers with one of two versions of an adapter, and trains the second one by what replies were worth. Given to
 * {@link serveModels}, it is told every score that comes in.
 *
 * @example
 * const id = "agent/rag-r1-learning";
 * const learning = await LearningModel.open({
 *   ...{ name: id, model, lora: { rank: 4 } },
 *   serve: (adapter) => {
 *     const open = (ids, options) => engine.open(ids, { ...options, adapter });
 *     const { maxTokens } = engine;
 *     const parts = { tokenizer, chatTemplate, recipe: ragR1({ queries: "multi" }), search };
 *     return agentModel({ ...parts, id, engine: { maxTokens, open }, contextTokens: maxTokens });
 *   },
 * });
 * const server = await serveModels({ models: [learning], port: 0 });
 * await server.close();
 * await learning.close();
 */
export class LearningModel implements ServedModel {
  readonly id: string;
  readonly contextTokens: number;
  readonly parent: string | undefined;
  readonly text: ModelText | undefined;
  readonly sampling: ServedModel["sampling"];
  readonly #options: LearnOptions;
  readonly #canary: Canary;
  /** Of the stable version's rewards. */
  readonly #level: Level;
  readonly #history: History;
  #stable: Version;
  #candidate: Candidate;
  #scored: ScoredChoice[] = [];
  #isDeciding = false;
  /** Whether rewards have fallen without a change of the model: nothing is learnt from such, nor decided by them. */
  #isHeld = false;
  #numVersions: number;
  #numAsked = 0;
  #numSteps: number;
  /** Steps, promotions and rollbacks, one after the other. */
  #work: Promise<void> = Promise.resolve();

  private constructor(options: LearnOptions, { stable, history, ...candidate }: Opened) {
    const { id, contextTokens, parent, text, sampling } = stable.model;
    this.id = options.name;
    this.contextTokens = contextTokens;
    this.parent = parent ?? id;
    this.text = text;
    this.sampling = sampling;
    this.#options = options;
    const canary = { ...canaryDefaults, ...options.canary };
    this.#canary = new Canary(canary);
    this.#level = new Level(canary.least);
    this.#stable = stable;
    this.#candidate = candidate;
    this.#history = history;
    this.#numVersions = candidate.version.number;
    this.#numSteps = history.numSteps;
  }

  /**
   * Opens one, with the adapter of its folder if there is one.
   *
   * @param options - see {@link LearnOptions}
   * @returns what is served, to be closed
   * @throws ERR_ARGUMENT for an option that is not known or missing; ERR_STATE when another process learns in the folder;
   *   ERR_FORMAT for an adapter of another model; ERR_IO for a folder that cannot be written; ERR_MEMORY when optimiser and
   *   adapters do not fit
   */
  static async open(options: LearnOptions): Promise<LearningModel> {
    checkOptions("learn", options, learnKinds, learnRequired);
    const history = await History.open(options.folder);
    try {
      return new LearningModel(options, await openVersions(options, history));
    } catch (error) {
      await history.close();
      throw error;
    }
  }

  /** The version that answers the next request. @internal */
  choose(): Version {
    const { share = defaults.share, seed = defaults.seed } = this.#options;
    this.#numAsked += 1;
    const isTried = mixSeed(seed, "candidate", this.#numAsked) / 2 ** 32 < share;
    return isTried ? this.#candidate.version : this.#stable;
  }

  /** A reply of one of the two. */
  reply(request: ReplyRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, void, undefined> {
    return this.choose().reply(request, signal);
  }

  /** Takes a reply that was scored; learns from it, and decides about the candidate by it. @internal */
  score(choice: ScoredChoice): void {
    if (choice.model !== this.id) return;
    const arm = this.#armOf(choice);
    const shift = arm === "stable" ? this.#level.add(choice.reward) : "none";
    if (shift !== "none") this.#hold(shift);
    if (this.#isHeld || shift !== "none") return;
    if (choice.isLearnable) this.#scored.push(choice);
    const verdict = arm === undefined ? "open" : this.#canary.add(arm, choice.reward);
    if (verdict !== "open") this.#decide(verdict);
    else if (this.#scored.length >= (this.#options.batch ?? defaults.batch)) this.#then(() => this.#step());
  }

  /** Waits for what is under way, and keeps the stable version. */
  async close(): Promise<void> {
    await this.#work;
    await this.#history.close();
    this.#candidate.trainer.close();
    this.#candidate.version.retire();
    this.#stable.retire();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #then(work: () => Promise<LearnEvent | undefined>): void {
    this.#work = this.#work
      .then(work)
      .catch((error: unknown): LearnEvent => ({ type: "failed", error }))
      .then((event) => event && this.#options.onEvent?.(event));
  }

  /** A step on all that was scored since the last one. */
  async #step(): Promise<LearnEvent | undefined> {
    if (this.#scored.length < (this.#options.batch ?? defaults.batch)) return undefined;
    const choices = this.#scored.splice(0);
    const { trainer, version } = this.#candidate;
    const { model: reference } = this.#options;
    const numSteps = this.#numSteps;
    const learnt = await learnFrom(choices, { trainer, reference, numSteps, options: this.#options });
    this.#numSteps += 1;
    const step = this.#numSteps;
    const means = Object.entries(this.#canary.means).map(([arm, mean]) => [`reward/${arm}`, mean]);
    const metrics = { step, ...learnt, ...Object.fromEntries(means) };
    const replies = choices.map(({ id, choice }) => [id, choice] as const);
    await this.#history.add({ type: "step", step, version: version.number, replies }, metrics);
    return { type: "step", step, metrics };
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
    const rewards = this.#canary.rewardsOf("candidate");
    this.#act(async () => {
      const isBetter = verdict === "better";
      const version = await (isBetter ? this.#promote(rewards) : this.#rollBack());
      const [type, step] = [isBetter ? "promoted" : "rolledBack", this.#numSteps] as const;
      await this.#history.add({ type, step, version });
      return { type, step, stable, candidate };
    });
  }

  /** The stable version earns less than it did, so what is rewarded has changed, or does so no more. */
  #hold(shift: Exclude<Shift, "none">): void {
    const { before, now } = this.#level;
    this.#isHeld = shift === "fallen";
    this.#act(async () => {
      const version = shift === "fallen" ? await this.#rollBack() : this.#candidate.version.number;
      const [type, step] = [shift === "fallen" ? "held" : "resumed", this.#numSteps] as const;
      await this.#history.add({ type, step, version });
      return { type, step, before, now };
    });
  }

  /** Changes versions, and compares anew. */
  #act(change: () => Promise<LearnEvent>): void {
    this.#isDeciding = true;
    this.#then(async () => {
      try {
        return await change();
      } finally {
        this.#canary.clear();
        this.#isDeciding = false;
      }
    });
  }

  /** What the candidate is now becomes what most requests get; the candidate goes on learning. */
  async #promote(rewards: readonly number[]): Promise<number> {
    const adapter = await this.#candidate.version.adapter.clone();
    if (this.#options.folder !== undefined) await adapter.save(this.#options.folder);
    const version = await this.#newVersion(adapter);
    this.#stable.retire();
    this.#stable = version;
    this.#level.restart(rewards);
    return version.number;
  }

  /** What the candidate has learnt is dropped, and what it would have learnt from: it may be what made it worse. */
  async #rollBack(): Promise<number> {
    const { version, trainer } = this.#candidate;
    const adapter = await this.#stable.adapter.clone();
    this.#candidate = { version: await this.#newVersion(adapter), trainer: await Trainer.open(adapter) };
    this.#scored = [];
    trainer.close();
    version.retire();
    return this.#candidate.version.number;
  }

  async #newVersion(adapter: Adapter): Promise<Version> {
    this.#numVersions += 1;
    return new Version(this.#numVersions, adapter, await this.#options.serve(adapter));
  }
}

/** The adapter of a folder, or a new one. */
async function openAdapter({ model, folder, lora, seed = defaults.seed }: LearnOptions): Promise<Adapter> {
  const isKept = folder !== undefined && existsSync(join(folder, "adapter_config.json"));
  return isKept ? Adapter.load(model, folder) : Adapter.create(model, { ...lora, seed });
}

/** The two versions that learning begins with, which are equal. */
async function openVersions(options: LearnOptions, history: History): Promise<Opened> {
  const { numVersions, numSteps: step } = history;
  const adapter = await openAdapter(options);
  const stable = new Version(numVersions + 1, adapter, await options.serve(adapter));
  const copy = await adapter.clone();
  const version = new Version(numVersions + 2, copy, await options.serve(copy));
  await history.add({ type: "opened", step, stable: stable.number, version: version.number });
  return { stable, version, trainer: await Trainer.open(copy), history };
}
