/** Micro-batching: the queries of all live trajectories that arrive within a short window become one search. */
import { SeekError } from "../base/errors.ts";
import { ResultCache } from "./result-cache.ts";
import type { Hit, Search } from "./search.ts";

/** How queries are gathered. */
export interface BatchOptions {
  /** How long the first query of a batch waits for others, milliseconds. @default 2 */
  readonly windowMs?: number;
  /** Queries of one search at most; a full batch leaves at once. @default 256 */
  readonly maxBatch?: number;
  /** Results kept, the least recently used dropped first; 0 keeps none. @default 1024 */
  readonly maxCached?: number;
}

/** Someone who waits for a query. */
interface Caller {
  resolve(hits: readonly Hit[]): void;
  reject(error: SeekError): void;
}

/** A query on its way, shared by all callers that ask the same. */
interface Pending {
  readonly key: string;
  readonly query: string;
  readonly topK: number;
  readonly callers: Set<Caller>;
  /** The search it is part of, once that has begun. */
  flight?: Flight;
}

/** One inner search under way. */
interface Flight {
  readonly stop: AbortController;
  /** Queries that somebody still waits for. */
  numLive: number;
}

function asSeekError(cause: unknown): SeekError {
  if (cause instanceof SeekError) return cause;
  const what = cause instanceof Error ? cause.message : String(cause);
  return new SeekError("ERR_REMOTE", `search: ${what}`, { cause });
}

const aborted = (signal: AbortSignal): SeekError =>
  new SeekError("ERR_ABORTED", "search: aborted", { cause: signal.reason });

/** Queries of one batch that agree in topK, and so can be one search. */
function byTopK(batch: readonly Pending[]): Pending[][] {
  const groups = new Map<number, Pending[]>();
  for (const pending of batch) {
    const group = groups.get(pending.topK) ?? [];
    groups.set(pending.topK, group);
    group.push(pending);
  }
  return [...groups.values()];
}

class Batcher {
  readonly #search: Search;
  readonly #windowMs: number;
  readonly #maxBatch: number;
  readonly #cache: ResultCache<readonly Hit[]>;
  /** Waiting or searched for, by key. */
  readonly #pending = new Map<string, Pending>();
  #waiting: Pending[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(search: Search, { windowMs = 2, maxBatch = 256, maxCached = 1024 }: BatchOptions) {
    this.#search = search;
    this.#windowMs = windowMs;
    this.#maxBatch = maxBatch;
    this.#cache = new ResultCache(maxCached);
  }

  /** One query of one caller, who leaves when the signal fires. */
  async find(query: string, topK: number, signal: AbortSignal | undefined): Promise<readonly Hit[]> {
    if (signal?.aborted) throw aborted(signal);
    const key = `${topK} ${query}`;
    return (
      this.#cache.get(key) ?? this.#join(this.#pending.get(key) ?? this.#enqueue(query, topK, key), signal)
    );
  }

  #join(pending: Pending, signal: AbortSignal | undefined): Promise<readonly Hit[]> {
    let leave = (): void => undefined;
    const hits = new Promise<readonly Hit[]>((resolve, reject) => {
      const caller: Caller = { resolve, reject };
      pending.callers.add(caller);
      if (signal === undefined) return;
      leave = () => {
        this.#leave(pending, caller);
        reject(aborted(signal));
      };
      signal.addEventListener("abort", leave, { once: true });
    });
    return hits.finally(() => signal?.removeEventListener("abort", leave));
  }

  #leave(pending: Pending, caller: Caller): void {
    pending.callers.delete(caller);
    if (pending.callers.size > 0) return;
    this.#forget(pending);
    this.#waiting = this.#waiting.filter((other) => other !== pending);
    if (pending.flight === undefined) return;
    pending.flight.numLive -= 1;
    if (pending.flight.numLive === 0) pending.flight.stop.abort();
  }

  #enqueue(query: string, topK: number, key: string): Pending {
    const pending: Pending = { key, query, topK, callers: new Set() };
    this.#pending.set(key, pending);
    this.#waiting.push(pending);
    // Sent in a later task even when full, so that the caller has joined by then.
    if (this.#waiting.length === this.#maxBatch) setImmediate(() => this.#send());
    this.#timer ??= setTimeout(() => this.#send(), this.#windowMs);
    return pending;
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting.splice(0, this.#maxBatch);
    if (this.#waiting.length > 0) setImmediate(() => this.#send());
    for (const group of byTopK(batch)) void this.#fly(group);
  }

  async #fly(group: readonly Pending[]): Promise<void> {
    const flight: Flight = { stop: new AbortController(), numLive: group.length };
    for (const pending of group) pending.flight = flight;
    try {
      const found = await this.#ask(group, flight.stop.signal);
      for (const [i, pending] of group.entries()) this.#land(pending, found[i] as readonly Hit[]);
    } catch (cause) {
      const error = asSeekError(cause);
      for (const pending of group) this.#fail(pending, error);
    }
  }

  async #ask(group: readonly Pending[], signal: AbortSignal): Promise<Hit[][]> {
    const queries = group.map(({ query }) => query);
    const found = await this.#search(queries, { topK: group[0]?.topK ?? 1, signal });
    if (found.length === group.length) return found;
    throw new SeekError("ERR_REMOTE", `search: expected ${group.length} lists of hits, got ${found.length}`);
  }

  #land(pending: Pending, hits: readonly Hit[]): void {
    this.#cache.set(pending.key, hits);
    this.#forget(pending);
    for (const caller of pending.callers) caller.resolve(hits);
  }

  #fail(pending: Pending, error: SeekError): void {
    this.#forget(pending);
    for (const caller of pending.callers) caller.reject(error);
  }

  /** Unless a later query of the same key has taken its place. */
  #forget(pending: Pending): void {
    if (this.#pending.get(pending.key) === pending) this.#pending.delete(pending.key);
  }
}

/**
 * A search that gathers the queries of all its callers: equal queries are asked once, results are kept, and a caller
 * that aborts leaves the others' queries alone. The inner search is aborted only when nobody waits for it any more.
 *
 * @param search the inner search; one call per batch and topK
 * @param options window, size, cache
 * @returns a search that rejects with the inner search's SeekError, ERR_REMOTE for any other error, or ERR_ABORTED
 * @example
 * const search = batched(await openIndex("index"), { windowMs: 5 });
 * await Promise.all(questions.map(({ question }) => search([question], { topK: 3 }))); // one search
 */
export function batched(search: Search, options: BatchOptions = {}): Search {
  const batcher = new Batcher(search, options);
  return (queries, { topK, signal }) =>
    Promise.all(queries.map(async (query) => [...(await batcher.find(query, topK, signal))]));
}
