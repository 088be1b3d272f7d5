/** Rollouts of the steps to come, under way while a step is computed. */
import { setMaxListeners } from "node:events";

/** How far rollouts may run ahead. */
interface PipelineOptions {
  /** Steps of the run; none beyond is begun. */
  readonly steps: number;
  /** A step's rollouts begin at most so many steps before it; 0 is when it begins. */
  readonly staleness: number;
  /** Ends all that is under way. */
  readonly signal?: AbortSignal | undefined;
}

/** Begins the rollouts of steps ahead of time, as many as are allowed and no more. */
export class RolloutPipeline<Rollouts> {
  readonly #begin: (step: number, signal: AbortSignal) => Promise<Rollouts>;
  readonly #options: PipelineOptions;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;
  /** By step. */
  readonly #underWay = new Map<number, Promise<Rollouts>>();

  /**
   * Begins nothing yet.
   *
   * @param options - how far ahead, until when
   * @param begin - makes a step's rollouts; may be called for a step while earlier ones are under way
   */
  constructor(options: PipelineOptions, begin: (step: number, signal: AbortSignal) => Promise<Rollouts>) {
    this.#begin = begin;
    this.#options = options;
    const { signal } = options;
    this.#signal = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
    // All that is under way listens.
    setMaxListeners(0, this.#signal);
  }

  /**
   * A step's rollouts, begun now or before; those of the steps that may run ahead of it are begun.
   *
   * @param step - each once, in order
   * @throws what its rollouts threw
   */
  take(step: number): Promise<Rollouts> {
    const { steps, staleness } = this.#options;
    for (let next = step; next <= step + staleness && next < steps; next += 1) this.#start(next);
    const taken = this.#underWay.get(step)!;
    this.#underWay.delete(step);
    return taken;
  }

  /** Aborts what is under way and waits for it; what it throws then is of no interest. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#underWay.values());
  }

  /** Closes at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #start(step: number): void {
    if (this.#underWay.has(step)) return;
    const rollouts = this.#begin(step, this.#signal);
    // A failure is told to whoever takes the step.
    rollouts.catch(() => undefined);
    this.#underWay.set(step, rollouts);
  }
}
