/** The results of the queries asked last, bounded in number and in bytes. */

/** How much is kept. */
interface CacheLimits<Value> {
  /** Entries; 0 keeps none. */
  readonly maxSize: number;
  /** Bytes of all entries together. */
  readonly maxBytes: number;
  /** What an entry counts for. */
  bytesOf(key: string, value: Value): number;
}

/** A map that drops the entries used longest ago when there are too many or they are too large. */
export class ResultCache<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly bytes: number }>();
  readonly #limits: CacheLimits<Value>;
  #bytes = 0;

  constructor(limits: CacheLimits<Value>) {
    this.#limits = limits;
  }

  /** The value of a key, which counts as used. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps a value, and drops those used longest ago while there are too many. */
  set(key: string, value: Value): void {
    if (this.#limits.maxSize === 0) return;
    this.#drop(key);
    const bytes = this.#limits.bytesOf(key, value);
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.maxSize && this.#bytes <= this.#limits.maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}
