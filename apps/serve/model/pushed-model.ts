/** A language model that samples from the weights that were pushed to it last; replies tell their version. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import { unlessAborted } from "../../../lib/base/streamed.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { adapterConfigFile } from "../../../lib/model/peft-config.ts";
import { readWeights } from "../../../lib/model/read-weights.ts";
import { Refusal } from "../http/refusal.ts";
import { LearningModel } from "../learn/learning-model.ts";
import { Version } from "../learn/version.ts";
import type { ModelText, ReplyEvent, ReplyRequest, ServedModel } from "../reply/reply.ts";
import { LanguageModel } from "./language-model.ts";
import type { ModelServerOptions } from "./options.ts";
import { WeightsStage } from "./weights-stage.ts";

/** What a file of weights has besides numbers, at most. */
const headerBytes = 64 << 20;

/**
 * Lets the first model of a server take weights.
 *
 * @throws ERR_ARGUMENT for a first model that is none of this machine's or learns, and for a server that asks for no key
 */
export async function openPushed({ models, open, apiKey }: ModelServerOptions): Promise<PushedModel> {
  const [first] = models;
  const wrong = (message: string): never => {
    throw new SeekError("ERR_ARGUMENT", `acceptWeights: ${message}`);
  };
  if (open && !apiKey) wrong("expected a key (SEEKRL_API_KEY), or everybody could change the model");
  if (models.some((model) => model instanceof LearningModel)) wrong("expected no model that learns here");
  if (!(first instanceof LanguageModel)) return wrong("expected a language model first");
  return new PushedModel(first, await WeightsStage.open(4 * first.engine.model.numParameters + headerBytes));
}

/** Replies that must not see the weights change. */
class RepliesUnderWay {
  #count = 0;
  #gate: Promise<void> | undefined;
  #onNone = (): void => {};

  /** Waits while the weights change. */
  async begin(signal: AbortSignal): Promise<void> {
    while (this.#gate !== undefined && !signal.aborted) await unlessAborted(this.#gate, signal);
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onNone();
  }

  /** Does something once all have ended, before others begin. */
  async without(change: () => Promise<void>): Promise<void> {
    let open = (): void => {};
    this.#gate = new Promise((resolve) => {
      open = resolve;
    });
    try {
      while (this.#count > 0)
        await new Promise<void>((resolve) => {
          this.#onNone = resolve;
        });
      await change();
    } finally {
      this.#gate = undefined;
      open();
    }
  }
}

/** A language model whose weights others change. */
export class PushedModel implements ServedModel {
  readonly stage: WeightsStage;
  readonly #first: LanguageModel;
  /** The adapter that was pushed last, where adapters are. */
  #adapter: Version | undefined;
  /** What the engine's own versions were pushed as. */
  readonly #pushed = new Map<number, number>();
  #version: number | undefined;
  #loading: Promise<void> = Promise.resolve();
  readonly #under = new RepliesUnderWay();

  /** Use {@link openPushed}. */
  constructor(first: LanguageModel, stage: WeightsStage) {
    this.#first = first;
    this.stage = stage;
  }

  get id(): string {
    return this.#first.id;
  }

  get contextTokens(): number {
    return this.#first.contextTokens;
  }

  get sampling(): LanguageModel["sampling"] {
    return this.#first.sampling;
  }

  get text(): ModelText {
    return this.#first;
  }

  /** What was pushed last. */
  get version(): number | undefined {
    return this.#version;
  }

  /** The same models with this one in the place of the first. */
  among([, ...others]: readonly ServedModel[]): ServedModel[] {
    return [this, ...others];
  }

  async *reply(request: ReplyRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, void, undefined> {
    await this.#under.begin(signal);
    try {
      const adapter = this.#adapter;
      for await (const event of (adapter ?? this.#first).reply(request, signal)) {
        if (event.type !== "finish") yield event;
        else yield { ...event, weightsVersion: adapter?.number ?? this.#versionOf(event.weightsVersion) };
      }
    } finally {
      this.#under.end();
    }
  }

  /**
   * Samples what is asked from now on from a folder's weights. Replies under way go on with the adapter that they began with;
   * a model's weights change once they have ended, and replies that are asked for meanwhile wait.
   *
   * @param folder - of a model of the same shape, or of an adapter on it
   * @param version - that replies shall tell
   * @throws Refusal for weights that cannot be read
   */
  async load(folder: string, version: number): Promise<void> {
    // One after the other; whoever came before has been told what went wrong.
    const before = this.#loading;
    this.#loading = (async () => {
      await before.catch(() => {});
      await this.#load(folder, version);
    })();
    try {
      await this.#loading;
    } catch (error) {
      if (!(error instanceof SeekError) || error.code === "ERR_STATE") throw error;
      throw new Refusal("invalid_request", `weights: ${error.message}`, { cause: error });
    }
  }

  /** Gives back what was pushed. */
  async close(): Promise<void> {
    this.#adapter?.retire();
    await this.stage.close();
  }

  async #load(folder: string, version: number): Promise<void> {
    const before = this.#adapter;
    const { model } = this.#first.engine;
    const isAdapter = await stat(join(folder, adapterConfigFile)).then(Boolean, () => false);
    if (isAdapter) {
      const adapter = await Adapter.load(model, folder);
      this.#adapter = new Version(version, adapter, this.#first.through(adapter));
    } else {
      await this.#under.without(async () => {
        await readWeights(model, folder);
        this.#adapter = undefined;
        this.#pushed.set(model.weightsVersion, version);
      });
    }
    this.#version = version;
    before?.retire();
  }

  /** Of replies under weights that nobody pushed, the engine's own. */
  #versionOf(engines: number): number {
    return this.#pushed.get(engines) ?? engines;
  }
}
