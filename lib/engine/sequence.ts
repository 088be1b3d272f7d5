/** A growing list of tokens that the engine continues, whose keys and values stay cached between calls. */
import { SeekError } from "../base/errors.ts";
import { handled, handledSteps, streamed, type Turns, unlessAborted } from "../base/streamed.ts";
import type { Policy } from "../model/policy.ts";
import type { FollowedText } from "./constraint/grammars.ts";
import { PendingSpan, type SpanReader } from "./pending-span.ts";
import { emptySpan, join, joinChunks, type SequenceEvent, topOf, toSpan } from "./sequence-event.ts";
import { checkRoom, type SequenceHome } from "./sequence-home.ts";
import {
  checkScoreOptions,
  checkSeed,
  checkSeedOptions,
  type FullOptions,
  fullOptions,
  type GenerateOptions,
  type ScoreOptions,
  type Scores,
  type Span,
  type SpanChunk,
} from "./span.ts";
import { TokenList } from "./token-list.ts";
import { checkIds } from "./vocabulary.ts";

/** What a sequence begins with. */
interface SequenceStart {
  readonly tokens: Int32Array;
  /** What it runs through. */
  readonly policy: Policy;
}

/** Who follows a span while it comes. */
interface Followers {
  readonly signal: AbortSignal | undefined;
  readonly matcher: FollowedText | undefined;
  readonly onChunk: ((chunk: SpanChunk) => void) | undefined;
}

/**
 * One conversation with the model. Between calls it keeps what was computed; a token is never computed twice unless
 * the weights changed or the cache ran full.
 *
 * @example
 * const sequence = engine.open(tokenizer.encode("Once upon a time"), { seed: 7 });
 * const { ids, stop } = await sequence.generate({ maxTokens: 64, stop: ["\n"] });
 * sequence.append(tokenizer.encode("And then"));
 * sequence.close();
 */
export class Sequence {
  readonly #home: SequenceHome;
  readonly #id: number;
  readonly #policy: Policy;
  readonly #tokens: TokenList;
  #pending: PendingSpan | undefined;
  #isClosed = false;
  /** A constraint is read for a span that has not begun. */
  #isOpening = false;

  /** Use {@link Engine.open} or {@link Sequence.fork}. @internal */
  constructor(home: SequenceHome, id: number, { tokens, policy }: SequenceStart) {
    this.#home = home;
    this.#id = id;
    this.#policy = policy;
    this.#tokens = new TokenList(tokens);
    home.add(id, this);
  }

  /** All tokens so far: prompt, sampled and appended; a copy. */
  get tokens(): Int32Array {
    return this.#tokens.copy();
  }

  /** Number of tokens so far. */
  get length(): number {
    return this.#tokens.length;
  }

  /**
   * Samples tokens until a stop.
   *
   * @param options see {@link GenerateOptions}
   * @returns the tokens, which are part of the sequence from then on
   * @throws ERR_STATE once closed, or while another span is being sampled; ERR_RANGE for a sequence of no tokens, one
   *   as long as the model allows, or an option out of range; ERR_MEMORY when the cache cannot hold the sequence;
   *   ERR_ARGUMENT for stop strings or a constraint without a tokenizer, and for a constraint that cannot be read; ERR_ABORTED when the sequence is closed meanwhile
   */
  generate(options: GenerateOptions): Promise<Span> {
    return handled(this.#start(options));
  }

  /**
   * Samples tokens until a stop and hands them out as they come; to a reader who takes longer than the engine several at once.
   * Leaving the loop early ends the span.
   *
   * @param options see {@link GenerateOptions}
   * @param turns when chunks are handed out; `@default` as soon as they are asked for
   * @returns chunks of at least one token; the span is the generator's return value
   * @throws as {@link Sequence.generate}
   */
  stream(options: GenerateOptions, turns?: Turns): AsyncGenerator<SpanChunk, Span, undefined> {
    const start = (onChunk: SpanReader["onChunk"], leave: AbortSignal): Promise<Span> =>
      this.#start(options, { onChunk, leave });
    return handledSteps(streamed(start, { join: joinChunks, turns }));
  }

  /**
   * Adds tokens the model shall read before it goes on.
   *
   * @param ids i32 [T]
   * @throws ERR_STATE once closed or while a span is being sampled; ERR_RANGE for an id outside the vocabulary
   */
  append(ids: Int32Array | readonly number[]): void {
    this.#requireIdle("append");
    const tokens = checkIds(ids, this.#home.vocabulary.size);
    this.#home.native.append(this.#id, tokens);
    this.#tokens.add(tokens);
  }

  /**
   * Another sequence that continues from here and shares what is cached.
   *
   * @param options `seed` of the copy's draws; `@default` the engine's next
   * @returns the copy, to be closed on its own
   * @throws ERR_STATE once closed or while a span is being sampled
   */
  fork(options: { readonly seed?: number | undefined } = {}): Sequence {
    this.#requireIdle("fork");
    checkSeedOptions("fork", options);
    const { id, seed } = this.#home.next();
    this.#home.native.fork(this.#id, id, checkSeed(options.seed ?? seed));
    return new Sequence(this.#home, id, { tokens: this.tokens, policy: this.#policy });
  }

  /**
   * Forgets all tokens but the first ones, and gives back the cache of the others. What is generated from here on is
   * what a new sequence of those tokens would generate; forks keep what they have.
   *
   * @param length tokens to keep, 0 to the sequence's length
   * @param options `seed` of the draws from here on. With the old one a draw at a position repeats the chance of the
   *   forgotten draw there: pass another where the two shall be independent; `@default` unchanged
   * @throws ERR_STATE once closed or while a span is being sampled; ERR_RANGE for a length out of range
   */
  truncate(length: number, options: { readonly seed?: number | undefined } = {}): void {
    this.#requireIdle("truncate");
    checkSeedOptions("truncate", options);
    this.#tokens.checkLength("length", length, 0);
    this.#home.native.truncate(this.#id, length, options.seed);
    this.#tokens.truncate(length);
  }

  /**
   * How likely given tokens are after the sequence's, batched with whatever else runs. The sequence stays as it is.
   *
   * @param ids i32 [T]
   * @param options see {@link ScoreOptions}
   * @returns one log-probability and one entropy for each token, and the most likely tokens when they were asked for
   * @throws ERR_STATE once closed or while a span is being sampled; ERR_RANGE for an id outside the vocabulary, an
   *   `after` out of range or more tokens than the model allows; ERR_MEMORY when the cache cannot hold them;
   *   ERR_ABORTED when the sequence is closed meanwhile
   */
  score(ids: Int32Array | readonly number[], options: ScoreOptions = {}): Promise<Scores> {
    return handled(this.#scoreAfter(ids, options));
  }

  /** Gives the cache back; idempotent. A span that is being sampled is rejected with ERR_ABORTED. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#home.native.closeSequence(this.#id);
    if (this.#pending === undefined) this.#home.remove(this.#id);
  }

  /** Closes at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Takes an event of the engine; nothing else calls it. @internal */
  receive(event: SequenceEvent): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    if (pending.isSampled) this.#tokens.add(event.ids);
    pending.take(event);
    if (event.finish === undefined) return;
    this.#pending = undefined;
    if (this.#isClosed) this.#home.remove(this.#id);
    pending.end(event, this.#isClosed);
  }

  async #start(options: GenerateOptions, reader?: SpanReader): Promise<Span> {
    this.#requireIdle("generate");
    checkRoom(this.#home, this.#tokens.length, 1);
    const full = fullOptions(options, this.#home.vocabulary);
    const signals = [reader?.leave, options.signal].filter((each) => each !== undefined);
    const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
    const { constraint } = options;
    const opened = constraint && this.#home.constraints?.open(constraint, full.stopIds, signal);
    const matcher = opened && (await this.#openMatcher(opened, signal));
    try {
      if (signal?.aborted) return emptySpan(this.#policy.weightsVersion, full);
      return await this.#sample(full, { signal, matcher, onChunk: reader?.onChunk });
    } finally {
      matcher?.close();
    }
  }

  async #sample(full: FullOptions, { signal, matcher, onChunk }: Followers): Promise<Span> {
    const cancel = (): void => this.#home.native.cancel(this.#id);
    let fault: Error | undefined;
    // Each mask is made while the token before it runs.
    const sendMask = async (ids: Int32Array): Promise<void> => {
      try {
        if (matcher) this.#home.native.setMask(this.#id, await matcher.next(ids));
      } catch (error) {
        fault = error as Error;
        cancel();
      }
    };
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      // The span is pending once the engine has taken it, else a call that the addon refuses would jam the sequence.
      this.#home.native.generate(this.#id, {
        ...full,
        stopIds: Int32Array.from(full.stopIds),
        isStreamed: onChunk !== undefined || matcher !== undefined,
        maskWords: matcher ? Math.ceil(this.#home.vocabulary.size / 32) : 0,
      });
      void sendMask(new Int32Array());
      const pending = this.#await({
        isSampled: true,
        hasEntropies: full.entropies,
        hasTop: full.topLogprobs > 0,
        onChunk,
        onMore: sendMask,
      });
      const [chunks, event] = await pending.done;
      if (fault !== undefined) throw fault;
      return toSpan({ chunks, versionRuns: pending.versionRuns }, full, event, this.#home);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** @throws ERR_ARGUMENT for a constraint that cannot be read; ERR_ABORTED when the sequence is closed meanwhile */
  async #openMatcher(
    opened: Promise<FollowedText>,
    signal: AbortSignal | undefined,
  ): Promise<FollowedText | undefined> {
    this.#isOpening = true;
    try {
      const matcher = await unlessAborted(opened, signal);
      if (!signal?.aborted && !this.#isClosed) return matcher;
      // It is read to its end, for the next span that is held to it.
      opened.then((late) => late.close()).catch(() => {});
      if (!this.#isClosed) return undefined;
      throw new SeekError("ERR_ABORTED", "sequence: closed while its constraint was read");
    } finally {
      this.#isOpening = false;
    }
  }

  async #scoreAfter(ids: Int32Array | readonly number[], options: ScoreOptions): Promise<Scores> {
    this.#requireIdle("score");
    checkScoreOptions(options, this.#home.vocabulary.size);
    const { after = this.#tokens.length, topLogprobs = 0 } = options;
    const tokens = checkIds(ids, this.#home.vocabulary.size);
    this.#tokens.checkLength("after", after, 1);
    if (tokens.length === 0)
      return { logprobs: new Float32Array(), entropies: new Float32Array(), ...topOf([], topLogprobs) };
    if (after === this.#tokens.length) return this.#score(tokens, topLogprobs);
    using copy = this.fork();
    copy.truncate(after);
    return await copy.#score(tokens, topLogprobs);
  }

  async #score(tokens: Int32Array, topLogprobs: number): Promise<Scores> {
    checkRoom(this.#home, this.#tokens.length, tokens.length);
    this.#home.native.score(this.#id, tokens, topLogprobs);
    const kind = { isSampled: false, hasEntropies: true, hasTop: topLogprobs > 0 };
    const [chunks] = await this.#await(kind).done;
    return {
      logprobs: join(chunks, "logprobs"),
      entropies: join(chunks, "entropies"),
      ...topOf(chunks, topLogprobs),
    };
  }

  #await(kind: ConstructorParameters<typeof PendingSpan>[0]): PendingSpan {
    this.#pending = new PendingSpan(kind);
    return this.#pending;
  }

  #requireIdle(what: string): void {
    if (this.#isClosed) throw new SeekError("ERR_STATE", `sequence: ${what} after close`);
    if (this.#pending !== undefined || this.#isOpening)
      throw new SeekError("ERR_STATE", `sequence: ${what} while it generates`);
  }
}
