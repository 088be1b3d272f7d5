/** Which requests run: as many as the cache has blocks for, the others in the order in which they came. */
import type { Engine } from "../../../lib/engine/engine.ts";
import { Refusal } from "../http/refusal.ts";
import { ReplyTurns } from "./turns.ts";

/** What a request will need of the engine's cache, as far as can be told. */
export interface CacheNeed {
  readonly numPromptTokens: number;
  /** Tokens that each choice may grow by. */
  readonly maxTokens: number;
  readonly n: number;
}

/** The engine's cache, and how many requests may wait for it. */
interface AdmissionOptions {
  /** Its blocks may become fewer or more while it runs, on a GPU. */
  readonly engine: Pick<Engine, "blocks" | "blockTokens">;
  /** Requests that wait; more are refused. */
  readonly maxWaiting: number;
}

/** A request that waits, and what lets it run. */
interface Waiting {
  readonly numBlocks: number;
  admit(): void;
}

/**
 * Tokens of a choice for which blocks are set aside: most replies end long before their limit, and the engine makes room for
 * those that do not by setting another sequence aside.
 */
const reservedTokens = 512;

/** Lets requests run while their blocks fit beside those of the others; one that needs more than all runs alone. */
export class Admission {
  /** Of the requests that run. */
  readonly turns = new ReplyTurns();
  readonly #options: AdmissionOptions;
  readonly #queue = new Set<Waiting>();
  #numReserved = 0;
  #numRunning = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Requests that run. */
  get numRunning(): number {
    return this.#numRunning;
  }

  /** Requests that wait. */
  get numWaiting(): number {
    return this.#queue.size;
  }

  /** Blocks that are set aside. */
  get numReserved(): number {
    return this.#numReserved;
  }

  /**
   * Waits until a request may run.
   *
   * @param need - what it will hold
   * @param signal - ends the wait; its reason is thrown
   * @returns to be called once it has ended
   * @throws Refusal 429 when too many wait already
   */
  async enter(need: CacheNeed, signal: AbortSignal): Promise<() => void> {
    const numBlocks = this.#blocksOf(need);
    if (this.#queue.size > 0 || !this.#fits(numBlocks)) await this.#wait(numBlocks, signal);
    else this.#admit(numBlocks);
    return () => {
      this.#numReserved -= numBlocks;
      this.#numRunning -= 1;
      this.#advance();
    };
  }

  #blocksOf({ numPromptTokens, maxTokens, n }: CacheNeed): number {
    const { blockTokens } = this.#options.engine;
    const grown = Math.ceil(Math.min(maxTokens, reservedTokens) / blockTokens) + 1;
    return Math.floor(numPromptTokens / blockTokens) + n * grown;
  }

  #fits(numBlocks: number): boolean {
    return this.#numRunning === 0 || this.#numReserved + numBlocks <= this.#options.engine.blocks.numBlocks;
  }

  #admit(numBlocks: number): void {
    this.#numReserved += numBlocks;
    this.#numRunning += 1;
  }

  #wait(numBlocks: number, signal: AbortSignal): Promise<void> {
    const { maxWaiting } = this.#options;
    if (this.#queue.size >= maxWaiting) {
      const message = `${this.#queue.size} requests are waiting, of at most ${maxWaiting}; try again later`;
      throw new Refusal("too_busy", message, { headers: { "retry-after": "1" } });
    }
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const leave = (): void => {
        this.#queue.delete(waiting);
        reject(signal.reason);
        this.#advance();
      };
      const waiting = {
        numBlocks,
        admit: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#queue.add(waiting);
    });
  }

  /** The first of the queue goes first, even where a later one would fit: nobody waits for ever. */
  #advance(): void {
    for (const waiting of this.#queue) {
      if (!this.#fits(waiting.numBlocks)) return;
      this.#queue.delete(waiting);
      this.#admit(waiting.numBlocks);
      waiting.admit();
    }
  }
}
