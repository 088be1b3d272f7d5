/** Where rollouts can be made, and who waits for room there. */
import { SeekError, throwIfAborted } from "../../lib/base/errors.ts";
import type { PolicyAgent } from "../../lib/rollout/agents/agent.ts";

/** The local engine or a worker. */
export interface Place {
  /** In metrics. */
  readonly name: string;
  /** Rollouts at once. */
  readonly concurrency: number;
  readonly agent: Pick<PolicyAgent, "rollouts">;
}

/** A place as it is now. */
interface PlaceState {
  numRunning: number;
  /** Why nothing is sent there. */
  reason: string | undefined;
}

interface Waiting {
  readonly count: number;
  enter(place: Place): void;
  fail(error: SeekError): void;
}

/** Gives rollouts their places: the one with the greatest share of room next, the others' turn in the order in which they came. */
export class Places {
  readonly #places: ReadonlyMap<Place, PlaceState>;
  readonly #waiting = new Set<Waiting>();

  constructor(places: readonly Place[]) {
    this.#places = new Map(places.map((place) => [place, { numRunning: 0, reason: undefined }]));
  }

  /**
   * Waits for a place.
   *
   * @param count - rollouts that are made there together; more than a place holds are made where nothing else is
   * @returns the place, to be left
   * @throws ERR_REMOTE when every place is out; ERR_ABORTED
   */
  async enter(count: number, signal: AbortSignal | undefined): Promise<Place> {
    throwIfAborted(signal, "workers");
    const free = this.#waiting.size === 0 ? this.#freest(count) : undefined;
    if (free !== undefined) return this.#take(free, count);
    return this.#wait(count, signal);
  }

  /** Gives the room back. */
  leave(place: Place, count: number): void {
    this.#stateOf(place).numRunning -= count;
    this.#advance();
  }

  /** Sends nothing more there. @returns whether something was sent until now */
  close(place: Place, reason: string): boolean {
    const state = this.#stateOf(place);
    const wasOpen = state.reason === undefined;
    state.reason ??= reason;
    this.#advance();
    return wasOpen;
  }

  /** Sends rollouts there again. @returns whether nothing was sent until now */
  open(place: Place): boolean {
    const state = this.#stateOf(place);
    const wasClosed = state.reason !== undefined;
    state.reason = undefined;
    this.#advance();
    return wasClosed;
  }

  #stateOf(place: Place): PlaceState {
    return this.#places.get(place)!;
  }

  #take(place: Place, count: number): Place {
    this.#stateOf(place).numRunning += count;
    return place;
  }

  #freest(count: number): Place | undefined {
    const shares = [...this.#places].flatMap(([place, { numRunning, reason }]) => {
      const share = (numRunning + count) / place.concurrency;
      return reason === undefined && (numRunning === 0 || share <= 1) ? [{ place, share }] : [];
    });
    return shares.sort((a, b) => a.share - b.share)[0]?.place;
  }

  #wait(count: number, signal: AbortSignal | undefined): Promise<Place> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        this.#waiting.delete(waiting);
        signal?.removeEventListener("abort", abort);
        settle();
      };
      const abort = (): void =>
        end(() => reject(new SeekError("ERR_ABORTED", "workers: aborted", { cause: signal?.reason })));
      const waiting: Waiting = {
        count,
        enter: (place) => end(() => resolve(this.#take(place, count))),
        fail: (error) => end(() => reject(error)),
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#waiting.add(waiting);
      this.#advance();
    });
  }

  #advance(): void {
    const reasons = [...this.#places].map(([{ name }, { reason }]) => reason && `${name}: ${reason}`);
    if (!reasons.includes(undefined)) {
      const message = `workers: expected one that answers, got none; ${reasons.join("; ")}`;
      for (const waiting of [...this.#waiting]) waiting.fail(new SeekError("ERR_REMOTE", message));
    }
    for (const waiting of [...this.#waiting]) {
      const free = this.#freest(waiting.count);
      if (free === undefined) return;
      waiting.enter(free);
    }
  }
}
