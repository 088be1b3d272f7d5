/** A binary heap: the smallest element first. */

/** Keeps elements so that the smallest by `compare` is taken out first, in O(log n). */
export class MinHeap<T> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  /** Adds an element. */
  push(item: T): void {
    let hole = this.#items.push(item) - 1;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (this.#compare(item, this.#items[parent] as T) >= 0) break;
      this.#items[hole] = this.#items[parent] as T;
      hole = parent;
    }
    this.#items[hole] = item;
  }

  /** Takes the smallest element out; undefined when there is none. */
  pop(): T | undefined {
    const top = this.#items[0];
    const item = this.#items.pop();
    if (this.#items.length > 0) this.#sink(item as T);
    return top;
  }

  #sink(item: T): void {
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= this.#items.length) break;
      const other = this.#items[child + 1];
      if (other !== undefined && this.#compare(other, this.#items[child] as T) < 0) child += 1;
      if (this.#compare(this.#items[child] as T, item) >= 0) break;
      this.#items[hole] = this.#items[child] as T;
      hole = child;
    }
    this.#items[hole] = item;
  }
}
