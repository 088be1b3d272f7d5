/** When an agent has to answer, and when it has to stop. */
import type { AgentEvent } from "../../../lib/rollout/session/events.ts";
import type { AgentBudget } from "../reply/reply.ts";

/** The share of the time after which the last turn is announced: what is left is for the answer. */
const announcedShare = 0.75;

interface ClockOptions {
  readonly budget: AgentBudget;
  /** Of the caller. */
  readonly signal: AbortSignal;
  /** Whether the format can tell the agent that its last turn has come. */
  readonly canAnnounce: boolean;
}

/** Counts searches and time of one choice. */
export class BudgetClock {
  /** Whether the answer is being written, which nothing hurries. */
  isAnswering = false;
  /** Ends the rollout. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #due = new AbortController();
  readonly #maxSearches: number;
  readonly #timers: NodeJS.Timeout[] = [];
  #numSearches = 0;

  constructor({ budget, signal, canAnnounce }: ClockOptions) {
    const { maxSearches = Number.POSITIVE_INFINITY, deadlineMs } = budget;
    this.signal = AbortSignal.any([signal, this.#stop.signal]);
    this.#maxSearches = maxSearches;
    if (maxSearches === 0) this.#due.abort();
    if (deadlineMs === undefined) return;
    this.#timers.push(setTimeout(() => this.stop(), deadlineMs));
    if (canAnnounce) this.#timers.push(setTimeout(() => this.#hurry(), deadlineMs * announcedShare));
  }

  /** Fires when the next turn is to be the last. */
  get answerNow(): AbortSignal {
    return this.#due.signal;
  }

  /** Ends the rollout. */
  stop(): void {
    this.#stop.abort();
  }

  /** Counts searches as they begin; the last one that is allowed is followed by the last turn. */
  see({ type }: AgentEvent): void {
    if (type === "queries") this.#numSearches += 1;
    const isOver = type === "documents" || type === "failure";
    if (isOver && this.#numSearches >= this.#maxSearches) this.#due.abort();
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #hurry(): void {
    if (!this.isAnswering) this.#due.abort();
  }
}
