/** Concurrency limit, deadline, retries and circuit breaker of the requests to one server. */
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import type { BulkheadPolicy, CircuitBreakerPolicy } from "cockatiel";
import { optionsOf } from "../../lib/base/check-options.ts";
import { SeekError, throwIfAborted } from "../../lib/base/errors.ts";
import { lazyPackage, onFirstUse } from "../../lib/base/on-first-use.ts";
import { Fault } from "./fault.ts";

/** Bulkheads, circuit breakers, waits that grow. */
export const cockatiel = lazyPackage<typeof import("cockatiel")>("cockatiel");

/** How a server is asked. */
export interface TransportOptions {
  /** One attempt, from sending to the last byte, milliseconds. @default 10_000 */
  readonly timeoutMs?: number;
  /** A call with all its attempts and waits, milliseconds. @default 25_000 */
  readonly deadlineMs?: number;
  /**
   * Attempts after the first, made only after network errors, time-outs, 408, 429, 5xx and while nothing is sent.
   *
   * @default 2
   */
  readonly retries?: number;
  /** Requests under way at once; others wait for their turn. @default 16 */
  readonly maxConcurrent?: number;
  /** Failures in a row after which nothing is sent for a while; refusals (4xx) are none. @default 8 */
  readonly breakAfter?: number;
  /** How long nothing is sent then, milliseconds; one request afterwards tries whether all is well. @default 2_000 */
  readonly coolMs?: number;
}

/** Of an option `transport`. */
export const transportKind = optionsOf<TransportOptions>({
  timeoutMs: "number",
  deadlineMs: "number",
  retries: "number",
  maxConcurrent: "number",
  breakAfter: "number",
  coolMs: "number",
});

const backoff = onFirstUse(
  () => new (cockatiel().ExponentialBackoff)({ initialDelay: 100, maxDelay: 5_000 }),
);

interface AttemptsOptions {
  readonly signal: AbortSignal;
  /** On the clock of `performance.now()`, milliseconds. */
  readonly deadline: number;
  readonly numBytesThere: () => number;
}

/** The calls to one server share its slots and its breaker. */
export class Guard {
  readonly name: string;
  readonly options: Required<TransportOptions>;
  readonly #slots: BulkheadPolicy;
  readonly #breaker: CircuitBreakerPolicy;
  #lastFault = "";

  /** `name` stands at the beginning of error messages. @throws ERR_RANGE */
  constructor(name: string, given: TransportOptions = {}) {
    this.name = name;
    this.options = checked(given);
    const { bulkhead, circuitBreaker, ConsecutiveBreaker, handleWhen } = cockatiel();
    this.#slots = bulkhead(this.options.maxConcurrent, Number.POSITIVE_INFINITY);
    const { breakAfter, coolMs } = this.options;
    const counts = handleWhen((error) => error instanceof Fault && !error.isRefusal);
    const breaker = new ConsecutiveBreaker(breakAfter);
    this.#breaker = circuitBreaker(counts, { breaker, halfOpenAfter: coolMs });
  }

  /** Whether so many failures came in a row that nothing is sent. */
  get isBroken(): boolean {
    return this.#breaker.state !== cockatiel().CircuitState.Closed;
  }

  /**
   * Attempts until one succeeds, there is no use in another, or no time left.
   *
   * @param once - one attempt, which ends early when its signal fires
   * @param signal - the caller's
   * @param numBytesThere - grows as an answer comes that the next attempt goes on with: retries are then counted anew
   * @returns what the attempt returned
   * @throws ERR_REMOTE what the last attempt said, or that the deadline has passed; ERR_ABORTED when the signal fires
   */
  async run<Result>(
    once: (signal: AbortSignal) => Promise<Result>,
    signal?: AbortSignal,
    numBytesThere: () => number = () => 0,
  ): Promise<Result> {
    throwIfAborted(signal, this.name);
    const { deadlineMs } = this.options;
    const stop = new AbortController();
    const giveUp = (): void => stop.abort();
    const timer = setTimeout(giveUp, deadlineMs);
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      const how = { signal: stop.signal, deadline: performance.now() + deadlineMs, numBytesThere };
      return await Promise.race([this.#attempts(once, how), rejection(stop.signal)]);
    } catch (error) {
      throwIfAborted(signal, this.name);
      if (!stop.signal.aborted) throw error;
      throw new Fault(`${this.name}: no answer within ${deadlineMs} ms`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
    }
  }

  async #attempts<Result>(
    once: (signal: AbortSignal) => Promise<Result>,
    { signal, deadline, numBytesThere }: AttemptsOptions,
  ): Promise<Result> {
    let wait = backoff().next();
    for (let retries = 0; ; retries += 1) {
      const before = numBytesThere();
      try {
        return await this.#inTurn(() => this.#attempt(once, signal), signal);
      } catch (error) {
        if (numBytesThere() > before) [retries, wait] = [0, backoff().next()];
        if (!(error instanceof Fault && error.mayRetry) || retries === this.options.retries) throw error;
        const waitMs = Math.max(error.retryAfterMs ?? 0, wait.duration);
        if (performance.now() + waitMs >= deadline) throw error;
        await delay(waitMs, undefined, { signal });
        wait = wait.next(undefined);
      }
    }
  }

  async #inTurn<Result>(attempt: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    try {
      return await this.#slots.execute(() => {
        throwIfAborted(signal, this.name);
        return this.#breaker.execute(attempt);
      });
    } catch (error) {
      if (!(error instanceof cockatiel().BrokenCircuitError)) throw error;
      const { breakAfter, coolMs } = this.options;
      const rule = `${breakAfter} failures in a row, so nothing is sent for ${coolMs} ms`;
      const message = `${this.name}: ${rule}; the last: ${this.#lastFault}`;
      // Waiting costs the server nothing, and whoever has retries and time left may outlast its restart.
      throw new Fault(message, { cause: error, mayRetry: true, retryAfterMs: coolMs });
    }
  }

  async #attempt<Result>(
    once: (signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    try {
      return await once(signal);
    } catch (error) {
      // Whoever stopped waiting says nothing about the server.
      if (signal.aborted) throw new SeekError("ERR_ABORTED", `${this.name}: aborted`, { cause: error });
      if (error instanceof Fault) this.#lastFault = error.message;
      throw error;
    }
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function checked({
  timeoutMs = 10_000,
  deadlineMs = 25_000,
  retries = 2,
  maxConcurrent = 16,
  breakAfter = 8,
  coolMs = 2_000,
}: TransportOptions): Required<TransportOptions> {
  const options = { timeoutMs, deadlineMs, retries, maxConcurrent, breakAfter, coolMs };
  for (const [name, value] of Object.entries(options)) {
    const least = name === "retries" ? 0 : 1;
    if (Number.isInteger(value) && value >= least && value < 2 ** 31) continue;
    throw new SeekError("ERR_RANGE", `${name}: expected an integer of at least ${least}, got ${value}`);
  }
  return options;
}
