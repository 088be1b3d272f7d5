/** When each reply goes on: many of them share JavaScript's one thread, whose time is the engine's too. */
import { unlessAborted } from "../../base/streamed.ts";

/** How many turns are given, and how often. */
interface TurnOptions {
  /** Turns in an interval; the event loop is held no longer than they take. */
  readonly mostAtOnce: number;
  readonly intervalMs: number;
}

/** Turns in the order in which they were asked for, at once while they are few and at a steady rate while they are many. */
class Turns {
  readonly #options: TurnOptions;
  #queue: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #numGiven = 0;
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /** Waits for a turn, and no longer than until a signal fires. */
  async next(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now - this.#startedAt >= this.#options.intervalMs && this.#timer === undefined) this.#start(now);
    if (this.#numGiven < this.#options.mostAtOnce) this.#numGiven += 1;
    else await unlessAborted(this.#wait(), signal);
  }

  #wait(): Promise<void> {
    this.#timer ??= setTimeout(() => this.#give(), this.#options.intervalMs);
    return new Promise((resolve) => this.#queue.push(resolve));
  }

  #start(now: number): void {
    this.#startedAt = now;
    this.#numGiven = 0;
  }

  /** Begins the next interval. */
  #give(): void {
    this.#start(performance.now());
    const given = this.#queue.splice(0, this.#options.mostAtOnce);
    this.#numGiven = given.length;
    this.#timer =
      this.#queue.length > 0 ? setTimeout(() => this.#give(), this.#options.intervalMs) : undefined;
    for (const go of given) go();
  }
}

/** The turns of all replies that an engine samples. */
export class ReplyTurns {
  /** To begin something: a request, or its first token. Each takes around a millisecond. */
  readonly toBegin = new Turns({ mostAtOnce: 2, intervalMs: 2 });
  /**
   * To tell what was sampled since the last turn. Many streams of a small model are so told several tokens at a time: each event
   * costs about as much processor time as the model's token does.
   */
  readonly toGoOn = new Turns({ mostAtOnce: 3, intervalMs: 2 });
}
