/** The results of the queries asked last. */

/** A map that drops the entry used longest ago when there is one too many. */
export class ResultCache<Value> {
  readonly #values = new Map<string, Value>();
  readonly #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** The value of a key, which counts as used. */
  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  /** Keeps a value and drops the one used longest ago when there is one too many. */
  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size <= this.#maxSize) return;
    const [oldest] = this.#values.keys();
    this.#values.delete(oldest as string);
  }
}
