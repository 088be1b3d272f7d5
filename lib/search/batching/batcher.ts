/** Gathers what many callers ask for one by one into calls for many, each question succeeding or failing alone. */
import type { OptionKinds } from "../../base/check-options.ts";
import { messageOf, SeekError } from "../../base/errors.ts";
import { type Flight, Flights } from "./flights.ts";
import { ResultCache } from "./result-cache.ts";

/** How questions are gathered, how long they may take, what is remembered. */
export interface BatchOptions {
  /**
   * How long the first question of a batch waits for others, milliseconds. `adaptive`: not at all when nothing is under
   * way; else until the batch that is under way has ended, and a sixth of its time more for those who ask again, so that
   * a slow search is asked for many at once. A batch that takes twice the usual time is not waited for.
   * @default "adaptive"
   */
  readonly windowMs?: number | "adaptive";
  /** Questions of one batch at most; a full batch leaves at once. @default 256 */
  readonly maxBatch?: number;
  /** Results kept, those used longest ago dropped first; 0 keeps none. @default 1024 */
  readonly maxCached?: number;
  /** Bytes of the results kept. @default 67108864 */
  readonly maxCachedBytes?: number;
  /** How long a caller waits for an answer before ERR_REMOTE, milliseconds. @default Infinity */
  readonly timeoutMs?: number;
  /**
   * A batch that has not answered by then is asked again, question by question, and the first answer counts: one slow
   * question does not hold up the others for longer. Milliseconds, 0 never. @default 1000
   */
  readonly aloneAfterMs?: number;
  /** Called for every question and every batch. */
  readonly onEvent?: (event: BatchEvent) => void;
}

/** The type of each option; `windowMs` may be a word. */
export const batchKinds: OptionKinds<BatchOptions> = {
  windowMs: "any",
  maxBatch: "number",
  maxCached: "number",
  maxCachedBytes: "number",
  timeoutMs: "number",
  aloneAfterMs: "number",
  onEvent: "function",
};

/**
 * What happened: a question was answered from the cache, joined an equal one that is under way, or is asked; a batch
 * has ended.
 */
export type BatchEvent =
  | { readonly kind: "cached" | "joined" | "asked" }
  | {
      readonly kind: "batch";
      readonly size: number;
      readonly seconds: number;
      readonly isFailed: boolean;
    };

/** One call for many: a result per text, in order. All texts of a call are of one group. */
type AskMany<Result> = (
  texts: readonly string[],
  group: number,
  signal: AbortSignal,
) => Promise<readonly Result[]>;

/** Who waits for a question. */
interface Caller<Result> {
  resolve(result: Result): void;
  reject(error: SeekError): void;
}

/** A question on its way, shared by all callers that ask the same. */
interface Pending<Result> {
  readonly key: string;
  readonly text: string;
  readonly group: number;
  readonly callers: Set<Caller<Result>>;
  /** The calls it is part of. */
  readonly flights: Set<Flight>;
  isSettled: boolean;
}

function asSeekError(cause: unknown): SeekError {
  if (cause instanceof SeekError) return cause;
  return new SeekError("ERR_REMOTE", `search: ${messageOf(cause)}`, { cause });
}

const aborted = (signal: AbortSignal): SeekError =>
  new SeekError("ERR_ABORTED", "search: aborted", { cause: signal.reason });

/** Failures that each question would meet again if it were asked alone. */
const isOfAll = ({ code }: SeekError): boolean => code === "ERR_ABORTED" || code === "ERR_STATE";

function byGroup<Result>(batch: readonly Pending<Result>[]): Pending<Result>[][] {
  const groups = new Map<number, Pending<Result>[]>();
  for (const pending of batch) {
    const group = groups.get(pending.group) ?? [];
    groups.set(pending.group, group);
    group.push(pending);
  }
  return [...groups.values()];
}

/** Makes batches of questions. */
export class Batcher<Result> {
  readonly #ask: AskMany<Result>;
  readonly #maxBatch: number;
  readonly #timeoutMs: number;
  readonly #aloneAfterMs: number;
  readonly #onEvent: (event: BatchEvent) => void;
  readonly #cache: ResultCache<Result>;
  /** Waiting or asked, by key. */
  readonly #pending = new Map<string, Pending<Result>>();
  #waiting: Pending<Result>[] = [];
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  readonly #flights: Flights;

  constructor(ask: AskMany<Result>, options: BatchOptions, bytesOf: (result: Result) => number) {
    const { windowMs = "adaptive", maxBatch = 256, maxCached = 1024, maxCachedBytes = 2 ** 26 } = options;
    const { timeoutMs = Number.POSITIVE_INFINITY, aloneAfterMs = 1000, onEvent = () => {} } = options;
    this.#ask = ask;
    this.#maxBatch = maxBatch;
    this.#timeoutMs = timeoutMs;
    this.#aloneAfterMs = aloneAfterMs;
    this.#onEvent = onEvent;
    this.#flights = new Flights(windowMs, () => this.#schedule());
    this.#cache = new ResultCache({
      maxSize: maxCached,
      maxBytes: maxCachedBytes,
      bytesOf: (key, result) => 2 * key.length + bytesOf(result),
    });
  }

  /** One question of one caller, who leaves when the signal fires or the time is up. */
  async find(text: string, group: number, signal?: AbortSignal): Promise<Result> {
    if (signal?.aborted) throw aborted(signal);
    const key = `${group} ${text}`;
    const kept = this.#cache.get(key);
    if (kept !== undefined) {
      this.#onEvent({ kind: "cached" });
      return kept;
    }
    const shared = this.#pending.get(key);
    this.#onEvent({ kind: shared ? "joined" : "asked" });
    return this.#join(shared ?? this.#enqueue(text, group, key), signal);
  }

  #join(pending: Pending<Result>, signal: AbortSignal | undefined): Promise<Result> {
    let [timer, onAbort] = [undefined as NodeJS.Timeout | undefined, (): void => undefined];
    const answer = new Promise<Result>((resolve, reject) => {
      const caller = { resolve, reject };
      pending.callers.add(caller);
      const leave = (error: SeekError): void => {
        this.#leave(pending, caller);
        reject(error);
      };
      onAbort = () => leave(aborted(signal as AbortSignal));
      signal?.addEventListener("abort", onAbort, { once: true });
      if (Number.isFinite(this.#timeoutMs)) timer = setTimeout(() => leave(this.#late()), this.#timeoutMs);
    });
    return answer.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    });
  }

  #late(): SeekError {
    return new SeekError("ERR_REMOTE", `search: no answer within ${this.#timeoutMs} ms`);
  }

  #leave(pending: Pending<Result>, caller: Caller<Result>): void {
    pending.callers.delete(caller);
    if (pending.callers.size > 0 || pending.isSettled) return;
    this.#waiting = this.#waiting.filter((other) => other !== pending);
    this.#settle(pending);
  }

  #enqueue(text: string, group: number, key: string): Pending<Result> {
    const pending = {
      key,
      text,
      group,
      callers: new Set<never>(),
      flights: new Set<never>(),
      isSettled: false,
    };
    this.#pending.set(key, pending);
    this.#waiting.push(pending);
    this.#schedule();
    return pending;
  }

  /** A batch leaves in a later task even when it is due, so that what is asked in this one is part of it. */
  #schedule(): void {
    if (this.#waiting.length === 0 || this.#immediate) return;
    const waitMs = this.#waiting.length >= this.#maxBatch ? 0 : this.#flights.waitMs();
    if (waitMs < 1) this.#immediate = setImmediate(() => this.#send());
    else if (Number.isFinite(waitMs)) this.#timer ??= setTimeout(() => this.#send(), waitMs);
  }

  #send(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    [this.#timer, this.#immediate] = [undefined, undefined];
    for (const group of byGroup(this.#waiting.splice(0, this.#maxBatch))) void this.#askTogether(group);
    this.#schedule();
  }

  async #askTogether(batch: readonly Pending<Result>[]): Promise<void> {
    const alone = (): void => void this.#askAlone(batch);
    const timer =
      batch.length > 1 && this.#aloneAfterMs > 0 ? setTimeout(alone, this.#aloneAfterMs) : undefined;
    try {
      await this.#fly(batch);
    } catch (cause) {
      const error = asSeekError(cause);
      if (batch.length > 1 && !isOfAll(error)) alone();
      else for (const pending of batch) this.#settle(pending, { error });
    } finally {
      clearTimeout(timer);
    }
  }

  /** So that one bad or slow question costs its neighbours nothing but time. */
  async #askAlone(batch: readonly Pending<Result>[]): Promise<void> {
    for (const pending of batch.filter(({ isSettled }) => !isSettled)) {
      this.#fly([pending]).catch((cause) => this.#settle(pending, { error: asSeekError(cause) }));
    }
  }

  async #fly(batch: readonly Pending<Result>[]): Promise<void> {
    const flight = this.#flights.begin(batch.length);
    for (const pending of batch) pending.flights.add(flight);
    let isFailed = true;
    try {
      const texts = batch.map(({ text }) => text);
      const results = await this.#ask(texts, batch[0]?.group ?? 0, flight.stop.signal);
      if (results.length !== batch.length)
        throw new SeekError("ERR_REMOTE", `search: expected ${batch.length} results, got ${results.length}`);
      isFailed = false;
      flight.hasEnded = true;
      for (const [i, pending] of batch.entries()) this.#settle(pending, { result: results[i] as Result });
    } finally {
      const seconds = this.#flights.end(flight) / 1000;
      this.#onEvent({ kind: "batch", size: batch.length, seconds, isFailed });
    }
  }

  /** The end of a question, which a second answer no longer changes; without an outcome when nobody waits for it. */
  #settle(
    pending: Pending<Result>,
    outcome?: { readonly result: Result } | { readonly error: SeekError },
  ): void {
    if (pending.isSettled) return;
    pending.isSettled = true;
    // A later question of the same key may have taken its place.
    if (this.#pending.get(pending.key) === pending) this.#pending.delete(pending.key);
    if (outcome && "result" in outcome) this.#cache.set(pending.key, outcome.result);
    for (const caller of pending.callers) {
      if (outcome && "result" in outcome) caller.resolve(outcome.result);
      else if (outcome) caller.reject(outcome.error);
    }
    for (const flight of pending.flights) this.#flights.leave(flight);
  }
}
