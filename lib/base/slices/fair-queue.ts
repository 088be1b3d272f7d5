/** Whose turn it is among tasks of different sizes: the smallest one's and the oldest one's, one after the other. */

/**
 * Tasks that wait. A task that no smaller one joins is taken at the second turn at the latest, and any task after at most twice as
 * many as were before it, whatever comes later.
 */
export class FairQueue {
  /** Sizes, the oldest task first. */
  readonly #sizes = new Map<number, number>();
  #isOldests = false;

  /** Adds a task. */
  add(task: number, size: number): void {
    this.#sizes.set(task, size);
  }

  /** Takes a task out. @returns whether it waited */
  delete(task: number): boolean {
    return this.#sizes.delete(task);
  }

  /** Takes the task out whose turn it is; undefined where none waits. */
  take(): number | undefined {
    const task = this.#isOldests ? this.#oldest() : this.#smallest();
    if (task === undefined) return undefined;
    this.#isOldests = !this.#isOldests;
    this.#sizes.delete(task);
    return task;
  }

  /** Takes all out. */
  clear(): void {
    this.#sizes.clear();
  }

  #oldest(): number | undefined {
    const [oldest] = this.#sizes.keys();
    return oldest;
  }

  #smallest(): number | undefined {
    let smallest: readonly [task: number, size: number] | undefined;
    for (const each of this.#sizes) if (smallest === undefined || each[1] < smallest[1]) smallest = each;
    return smallest?.[0];
  }
}
