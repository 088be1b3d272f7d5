/** Calls under way, and how long the next batch waits for them. */

/** One call under way. */
export interface Flight {
  readonly stop: AbortController;
  readonly startedAt: number;
  /** Questions that somebody still waits for. */
  numLive: number;
  /** Whether the next batch waits for it, and until when. */
  isCounted: boolean;
  readonly patience: NodeJS.Timeout;
  hasEnded: boolean;
}

/** Nothing waits for less long than this for a batch that is under way, milliseconds. */
const leastPatienceMs = 50;

/** The wait after a batch as a part of what batches take, and the part of the newest in the running mean. */
const [waitShare, meanShare] = [1 / 6, 1 / 4];

/** The pace of a batcher. */
export class Flights {
  readonly #windowMs: number | "adaptive";
  readonly #onLanded: () => void;
  #numCounted = 0;
  /** What a batch takes, a running mean. */
  #meanMs = 0;
  #landedAt = 0;

  /** `onLanded` is called when one flight less is waited for. */
  constructor(windowMs: number | "adaptive", onLanded: () => void) {
    this.#windowMs = windowMs;
    this.#onLanded = onLanded;
  }

  /** Until a batch is due; without end while another one is under way, whose end calls `onLanded`. */
  waitMs(): number {
    if (this.#windowMs !== "adaptive") return this.#windowMs;
    if (this.#numCounted > 0) return Number.POSITIVE_INFINITY;
    return this.#landedAt + this.#meanMs * waitShare - performance.now();
  }

  /** A call for `numLive` questions. */
  begin(numLive: number): Flight {
    const flight: Flight = {
      stop: new AbortController(),
      startedAt: performance.now(),
      numLive,
      isCounted: true,
      patience: setTimeout(() => this.#land(flight), this.#patienceMs()),
      hasEnded: false,
    };
    this.#numCounted += 1;
    return flight;
  }

  /** The call has returned, with or without results. @returns what it took, milliseconds */
  end(flight: Flight): number {
    const ms = performance.now() - flight.startedAt;
    // Bounded, so that one call that hung does not change the pace.
    this.#meanMs += (Math.min(ms, this.#patienceMs()) - this.#meanMs) * meanShare;
    flight.hasEnded = true;
    this.#land(flight);
    return ms;
  }

  /** One of its questions is settled; a call that nobody waits for any more is aborted. */
  leave(flight: Flight): void {
    flight.numLive -= 1;
    if (flight.numLive > 0 || flight.hasEnded) return;
    flight.stop.abort();
    this.#land(flight);
  }

  /** How long others wait for a batch that is under way. */
  #patienceMs(): number {
    return Math.max(leastPatienceMs, 2 * this.#meanMs);
  }

  /** Nobody waits for a flight any more: it has ended, it takes too long, or nobody wants what it brings. */
  #land(flight: Flight): void {
    if (!flight.isCounted) return;
    flight.isCounted = false;
    clearTimeout(flight.patience);
    this.#numCounted -= 1;
    this.#landedAt = performance.now();
    this.#onLanded();
  }
}
