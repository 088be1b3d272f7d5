/** When each reply goes on: many of them share JavaScript's one thread, whose time is the engine's too. */
import type { Turns } from "../../../lib/base/streamed.ts";

/** How many turns are given, and how often. */
interface TurnOptions {
  /** Turns in an interval; the event loop is held no longer than they take. */
  readonly mostAtOnce: number;
  readonly intervalMs: number;
}

/** Turns in the order in which they were asked for, at once while they are few and at a steady rate while they are many. */
class TurnQueue {
  readonly #options: TurnOptions;
  #queue: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #numGiven = 0;
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  async next(): Promise<void> {
    const now = performance.now();
    if (now - this.#startedAt >= this.#options.intervalMs && this.#timer === undefined) this.#start(now);
    if (this.#numGiven < this.#options.mostAtOnce) this.#numGiven += 1;
    else await this.#wait();
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
export class ReplyTurns implements Turns {
  /** Somebody waits for these, the engine for the next request among them. */
  readonly #prompt = new TurnQueue({ mostAtOnce: 4, intervalMs: 1 });
  /** An event takes about as much processor time as a token of a small model, so with many streams each tells several tokens. */
  readonly #steady = new TurnQueue({ mostAtOnce: 2, intervalMs: 2 });

  /** Waits to begin something: a request, or its first token. */
  begin(): Promise<void> {
    return this.#prompt.next();
  }

  goOn(): Promise<void> {
    return this.#steady.next();
  }

  end(): Promise<void> {
    return this.#prompt.next();
  }
}
