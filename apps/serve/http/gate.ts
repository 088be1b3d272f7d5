/** Back-pressure: how many queries are let in at once, and whether any are. */
import { Refusal } from "./refusal.ts";

/** `loading`: the search is being opened; `failed`: it could not be. */
type GateState = "loading" | "ready" | "failed" | "stopping";

const retryAfter = { "retry-after": "1" };

/** Counts the queries that are being answered. */
export class Gate {
  state: GateState = "loading";
  readonly #maxQueries: number;
  #numQueries = 0;

  constructor(maxQueries: number) {
    this.#maxQueries = maxQueries;
  }

  /** Queries that are being answered. */
  get numQueries(): number {
    return this.#numQueries;
  }

  /** Whether a query would be let in. */
  get isOpen(): boolean {
    return this.state === "ready" && this.#numQueries < this.#maxQueries;
  }

  /** @throws Refusal unless the server is ready */
  checkReady(): void {
    if (this.state === "ready") return;
    if (this.state === "stopping")
      throw new Refusal("stopping", "the server is shutting down", { headers: retryAfter });
    const why = this.state === "failed" ? "its index could not be opened" : "its index is being opened";
    throw new Refusal("not_ready", `the server is not ready: ${why}`, { headers: retryAfter });
  }

  /**
   * Lets queries in, all or none; a request of more than the whole bound gets in when it is alone.
   *
   * @param count - queries
   * @returns to be called once when they are answered
   * @throws Refusal when too many are being answered, or the server is not ready
   */
  enter(count: number): () => void {
    this.checkReady();
    if (this.#numQueries > 0 && this.#numQueries + count > this.#maxQueries) {
      const message = `${this.#numQueries} queries are being answered, of at most ${this.#maxQueries}; try again later`;
      throw new Refusal("too_busy", message, { headers: retryAfter });
    }
    this.#numQueries += count;
    return () => {
      this.#numQueries -= count;
    };
  }
}
