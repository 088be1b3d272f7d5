/** Calls that report items while they run, as async generators; several of these as one; promises that may reject before anybody waits. */

/** Most items that are made one: a reader who was long away does not get all at once. */
const mostJoined = 32;

/** When what was reported is handed out, where many readers share one thread: each waits for its turn. */
export interface Turns {
  /** Waits between two items; the end of the call ends the wait. */
  goOn(): Promise<void>;
  /** Waits once the call has ended. */
  end(): Promise<void>;
}

/** How items are yielded. */
interface YieldOptions<Item> {
  /** Makes one item of those that came since the last was asked for, at most 32 of them. */
  readonly join?: ((items: readonly Item[]) => Item) | undefined;
  readonly turns?: Turns | undefined;
}

/** Nobody looks at it, and to make one takes longer than to yield many items. */
const left = new Error("the reader has left");

/**
 * Yields what a call reports, as it comes. Leaving the loop early fires its signal and waits for its end.
 *
 * @param start - begins the call, once the first item is asked for
 * @param options - `@default` items are yielded one by one, as they come
 * @returns the items; the call's result is the generator's return value
 * @throws what `start` rejects with, behind the items it reported
 */
export async function* streamed<Item, Result>(
  start: (onItem: (item: Item) => void, leave: AbortSignal) => Promise<Result>,
  { join, turns }: YieldOptions<Item> = {},
): AsyncGenerator<Item, Result, undefined> {
  const items: Item[] = [];
  let wake = (): void => {};
  let isDone = false;
  const leave = new AbortController();
  const onItem = (item: Item): void => {
    items.push(item);
    wake();
  };
  const result = start(onItem, leave.signal);
  const ended = result
    .catch(() => {})
    .then(() => {
      isDone = true;
      wake();
    });
  try {
    while (!isDone || items.length > 0) {
      const item = join && items.length > 1 ? join(items.splice(0, mostJoined)) : items.shift();
      if (item === undefined) {
        if (!isDone) await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      yield item;
      if (turns === undefined || isDone) continue;
      await Promise.race([turns.goOn(), ended]);
      if (isDone) await turns.end();
    }
    return await result;
  } finally {
    leave.abort(left);
    await ended;
  }
}

/** A step of one of several generators. */
interface Step<Item> {
  readonly source: AsyncGenerator<Item, void, undefined>;
  readonly result: IteratorResult<Item, void>;
}

/**
 * Yields what generators yield, each one's items in its order; none is ahead by more than one item. Leaving the loop early, or
 * one that fails, leaves all of them; a generator that waits for something is left once that has come.
 *
 * @param sources - not begun
 * @returns their items, mixed
 * @throws what the first of them throws
 */
export async function* merged<Item>(
  sources: readonly AsyncGenerator<Item, void, undefined>[],
): AsyncGenerator<Item, void, undefined> {
  const [only] = sources;
  if (only !== undefined && sources.length === 1) return yield* only;
  const stepOf = async (source: Step<Item>["source"]): Promise<Step<Item>> => ({
    source,
    result: await source.next(),
  });
  const steps = new Map(sources.map((source) => [source, handled(stepOf(source))]));
  try {
    while (steps.size > 0) {
      const { source, result } = await Promise.race(steps.values());
      steps.delete(source);
      if (result.done) continue;
      steps.set(source, handled(stepOf(source)));
      yield result.value;
    }
  } finally {
    await Promise.allSettled(sources.map((source) => source.return()));
  }
}

/**
 * The same promise. Closing an engine rejects what it has handed out, maybe before the caller waits for it, and Node
 * would end the process for that; whoever waits still sees the rejection.
 */
export function handled<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => {});
  return promise;
}

/** The same generator; what its `next` promises is {@link handled}. */
export function handledSteps<Item, Result>(
  steps: AsyncGenerator<Item, Result, undefined>,
): AsyncGenerator<Item, Result, undefined> {
  const next = steps.next.bind(steps);
  return Object.assign(steps, { next: () => handled(next()) });
}

/**
 * Waits for a promise no longer than until a signal fires.
 *
 * @param promise - goes on when the signal has fired; what it then rejects with is dropped
 * @param signal - maybe fired already
 * @returns what the promise gives; undefined once the signal has fired
 * @throws what the promise rejects with before that
 */
export async function unlessAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result | undefined> {
  if (signal === undefined) return await promise;
  let leave = (): void => {};
  const aborted = new Promise<undefined>((resolve) => {
    leave = () => resolve(undefined);
  });
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    return await Promise.race([handled(promise), aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
