/** Work with a deadline: the wait ends in time, even when the work ignores its signal. */

/** How long work may take, and who else may end it. */
export interface DeadlineLimits {
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** What became of the work: its result, its error, or which limit ended it. */
type DeadlineOutcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "timed out" }
  | { readonly kind: "aborted" };

/**
 * Runs work until it ends, the time is up or the signal fires. It never rejects, and waits for nothing beyond that: work
 * that ignores its own signal goes on unheard.
 *
 * @param work - its signal fires at the deadline; may throw at once
 * @param limits - time and signal
 * @returns what became of it
 * @example
 * const { kind } = await beforeDeadline(() => new Promise(() => {}), { timeoutMs: 1 });
 * assert.equal(kind, "timed out");
 */
export async function beforeDeadline<Result>(
  work: (signal: AbortSignal) => Promise<Result> | Result,
  { timeoutMs, signal }: DeadlineLimits,
): Promise<DeadlineOutcome<Result>> {
  if (signal?.aborted) return { kind: "aborted" };
  const stop = new AbortController();
  let end = (_: DeadlineOutcome<Result>): void => {};
  const ended = new Promise<DeadlineOutcome<Result>>((resolve) => {
    end = (outcome) => {
      resolve(outcome);
      stop.abort();
    };
  });
  const timer = setTimeout(() => end({ kind: "timed out" }), timeoutMs);
  const leave = (): void => end({ kind: "aborted" });
  signal?.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([attempt(work, stop.signal), ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
  }
}

async function attempt<Result>(
  work: (signal: AbortSignal) => Promise<Result> | Result,
  signal: AbortSignal,
): Promise<DeadlineOutcome<Result>> {
  try {
    return { kind: "done", result: await work(signal) };
  } catch (error) {
    return { kind: "failed", error };
  }
}
