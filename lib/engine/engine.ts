/** Generates tokens for many sequences at once on a model's weights. */
import { native } from "../base/addon/native.ts";
import { checkOptions } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import type { Adapter } from "../model/adapter.ts";
import type { Model } from "../model/model.ts";
import { type Policy, policyParts } from "../model/policy.ts";
import { Constraints } from "./constraint/constraints.ts";
import { deliver } from "./deliver.ts";
import { type EngineOptions, engineKinds, type OpenOptions, openKinds, sizesOf } from "./engine-options.ts";
import { Sequence } from "./sequence.ts";
import type { OpenSequence, SequenceHome } from "./sequence-home.ts";
import { checkSeed } from "./span.ts";
import { checkIds, checkTokenTable, packBytes, undrawnIds } from "./vocabulary.ts";

/** What an engine has done so far and holds now. */
export interface EngineStats {
  readonly numSteps: number;
  /** Sampled tokens. */
  readonly numGenerated: number;
  /** Tokens run ahead of their draws, and those of them that agreed with the draws. */
  readonly numDrafted: number;
  readonly numAccepted: number;
  /** Tokens read without sampling: prompts, observations, and what was computed again. */
  readonly numPrefilled: number;
  /**
   * Tokens not read because a sequence that begins alike, open or closed, had left their keys and values: in whole
   * blocks, under the same weights, as far as the cache has not needed the room. What forks share is not among them.
   */
  readonly numReused: number;
  /** Mean number of sequences in a step. */
  readonly meanBatch: number;
  /** Times a sequence lost its blocks because the cache was full. */
  readonly numPreemptions: number;
  /** Times a sequence lost its blocks on a GPU and their contents went to the host, from where they come back. */
  readonly numSwapped: number;
  /** Steps that a GPU had no memory for: each was tried again with fewer tokens. */
  readonly numOutOfMemory: number;
  /** Steps on a GPU that were one captured graph of launches. */
  readonly numReplays: number;
  /** Why no step on a GPU is one captured graph, and every kernel launched anew; undefined where steps are, and on the CPU. */
  readonly graphRefusal: string | undefined;
  /** Open sequences. */
  readonly numSequences: number;
  readonly numBlocks: number;
  readonly numUsedBlocks: number;
}

/** What the engine and its sequences share. */
interface EngineHome extends SequenceHome {
  readonly model: Model;
  readonly blockTokens: number;
  readonly maxBatchSequences: number;
  /** Of sequences that name none. */
  readonly adapter: Adapter | undefined;
}

/**
 * Continuous batching over one model: whatever sequences wait for tokens run together, each step anew, also those of
 * different adapters. The engine shares the weights with the trainer; when they change, the next step recomputes what it
 * needs.
 *
 * @example
 * await using engine = await Engine.open(model, { tokenizer });
 * const prompt = tokenizer.encode("The capital of France is");
 * const samples = await Promise.all(
 *   [1, 2, 3].map((seed) => engine.open(prompt, { seed }).generate({ maxTokens: 16, stop: ["\n"] })),
 * );
 */
export class Engine {
  readonly #home: EngineHome;
  readonly #sequences: Map<number, OpenSequence>;
  #closing: Promise<void> | undefined;

  private constructor(home: EngineHome, sequences: Map<number, OpenSequence>) {
    this.#home = home;
    this.#sequences = sequences;
  }

  /**
   * Opens an engine on a model, which it keeps alive.
   *
   * @param policy - the weights: a model, or an adapter on one, which sequences then use unless they say otherwise
   * @param options - see {@link EngineOptions}
   * @returns the engine, to be closed
   * @throws ERR_ARGUMENT for what is no model or no tokenizer; ERR_RANGE for sizes out of range; ERR_MEMORY when
   *   the cache cannot be allocated; ERR_STATE when the model is closed
   */
  static async open(policy: Policy, options: EngineOptions = {}): Promise<Engine> {
    const { model, adapter } = policyParts(policy, "Engine.open");
    checkOptions("Engine.open", options, engineKinds);
    const { tokenizer, seed = 0 } = options;
    checkSeed(seed);
    if (tokenizer !== undefined) checkTokenTable(tokenizer);
    const sizes = sizesOf(model, options);
    const { contextTokens, vocabSize } = model.config;
    const sequences = new Map<number, OpenSequence>();
    const handle = new (native().EngineHandle)((event) => deliver(event, sequences));
    const packed = packBytes(tokenizer);
    const undrawn = undrawnIds(tokenizer, vocabSize);
    const maxTokens = await handle.start(model.handle, sizes, { ...packed, undrawn });
    let numOpened = 0;
    return new Engine(
      {
        native: handle,
        maxTokens,
        isBoundByCache: maxTokens < contextTokens,
        cacheDtype: options.cacheDtype,
        vocabulary: { eosIds: tokenizer?.eosIds ?? [], hasBytes: tokenizer !== undefined, size: vocabSize },
        ...(tokenizer && { constraints: new Constraints(tokenizer, { ...packed, vocabSize }) }),
        model,
        blockTokens: sizes.blockTokens,
        maxBatchSequences: sizes.maxBatchRows,
        adapter,
        next: () => ({ id: numOpened, seed: seed + numOpened++ }),
        add: (id, sequence) => sequences.set(id, sequence),
        remove: (id) => sequences.delete(id),
      },
      sequences,
    );
  }

  /** The longest a sequence can grow, in tokens: what the model was made for and the cache can hold. */
  get maxTokens(): number {
    return this.#home.maxTokens;
  }

  /** Sequences that run in one step; more take turns. */
  get maxBatchSequences(): number {
    return this.#home.maxBatchSequences;
  }

  /** Bytes of a block's keys and values, those of all layers. */
  get blockBytes(): number {
    const { model, blockTokens, cacheDtype } = this.#home;
    const { numLayers, numKvHeads, headDim } = model.config;
    // Codes have a scale for each head of each token.
    const perHead = cacheDtype === "e4m3" ? headDim + 4 : headDim * (model.dtype === "float32" ? 4 : 2);
    return 2 * numLayers * blockTokens * numKvHeads * perHead;
  }

  /** The model whose weights it runs. */
  get model(): Model {
    return this.#home.model;
  }

  /** Tokens that a block of the cache holds. */
  get blockTokens(): number {
    return this.#home.blockTokens;
  }

  /**
   * Room in the cache after the engine's last command or step, said at once where {@link Engine.stats} waits for the step that
   * runs. Free are blocks that no open sequence holds, those included in which a prefix may still be found.
   *
   * @throws ERR_STATE once closed
   */
  get blocks(): { readonly numBlocks: number; readonly numFree: number } {
    this.#requireOpen();
    const handle = this.#home.native;
    return { numBlocks: handle.numBlocks(), numFree: handle.numFreeBlocks() };
  }

  /**
   * Begins a sequence.
   *
   * @param promptIds - i32 [T], may be empty when tokens are appended later
   * @param options - see {@link OpenOptions}
   * @returns the sequence, to be closed
   * @throws ERR_STATE once closed, or when the adapter is; ERR_ARGUMENT for what is no list of ids, and for an adapter on
   *   another model; ERR_RANGE for an id outside the vocabulary
   */
  open(promptIds: Int32Array | readonly number[], options: OpenOptions = {}): Sequence {
    this.#requireOpen();
    const ids = checkIds(promptIds, this.#home.vocabulary.size, "promptIds");
    checkOptions("open", options, openKinds);
    const adapter = this.#adapterOf(options.adapter);
    const { id, seed } = this.#home.next();
    this.#home.native.open(id, ids, checkSeed(options.seed ?? seed), adapter?.handle);
    return new Sequence(this.#home, id, { tokens: ids, policy: adapter ?? this.#home.model });
  }

  /**
   * Counts what the engine has done, after all that was asked for before.
   *
   * @returns counters since it was opened
   * @throws ERR_STATE once closed
   */
  async stats(): Promise<EngineStats> {
    this.#requireOpen();
    const { numRows = 0, ...rest } = await this.#home.native.stats();
    const { numSteps = 0 } = rest;
    return {
      ...(rest as unknown as Omit<EngineStats, "meanBatch">),
      meanBatch: numRows / Math.max(1, numSteps),
    };
  }

  /**
   * Closes all sequences and gives the cache back; idempotent. Spans that are being sampled reject with ERR_ABORTED.
   *
   * @returns when the device is done with the engine
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    for (const sequence of [...this.#sequences.values()]) sequence.close();
    await this.#home.native.close();
    await this.#home.constraints?.close();
  }

  #adapterOf(chosen: OpenOptions["adapter"]): Adapter | undefined {
    const { model, adapter } = this.#home;
    if (chosen === false || chosen === undefined) return chosen === false ? undefined : adapter;
    const parts = policyParts(chosen, "open: adapter");
    if (parts.adapter !== undefined && parts.model === model) return parts.adapter;
    throw new SeekError("ERR_ARGUMENT", "open: adapter: expected false or an adapter on the engine's model");
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new SeekError("ERR_STATE", "engine: closed");
  }
}
