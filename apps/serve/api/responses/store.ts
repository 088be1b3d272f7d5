/** Responses that clients may come back to: kept in memory, within a number and a size. */
import type { Item } from "./items/item.ts";
import type { ResponseObject } from "./resource.ts";

/** Bounds of what is kept. */
export interface StoreLimits {
  /** Responses that are kept; the longest unused go first. */
  readonly maxStoredResponses: number;
  /** Bytes that they take as JSON, conversations included. */
  readonly maxStoredBytes: number;
}

/** A response, and the conversation that it answers. */
export interface StoredResponse {
  readonly response: ResponseObject;
  /** All that came before the output, the oldest first. */
  readonly input: readonly Item[];
}

/** Bytes of items as JSON. Conversations share the items that they begin with, which are counted once each. */
const sizes = new WeakMap<Item, number>();

function sizeOf(item: Item): number {
  const known = sizes.get(item);
  if (known !== undefined) return known;
  const numBytes = Buffer.byteLength(JSON.stringify(item));
  sizes.set(item, numBytes);
  return numBytes;
}

/** All items of a response and its conversation. */
const itemsOf = ({ response, input }: StoredResponse): readonly Item[] => [...input, ...response.output];

function bytesOf(stored: StoredResponse): number {
  const items = itemsOf(stored).reduce((sum, item) => sum + sizeOf(item), 0);
  const { output: _, ...head } = stored.response;
  return Buffer.byteLength(JSON.stringify(head)) + items;
}

interface Entry extends StoredResponse {
  readonly numBytes: number;
}

/**
 * Responses by their names. Each holds its whole conversation, so that it can be continued though earlier ones are gone; what
 * several share counts for each, which keeps the sum an upper bound.
 */
export class ResponseStore {
  readonly #limits: StoreLimits;
  /** The longest unused first. */
  readonly #entries = new Map<string, Entry>();
  /** Items of all of them by their ids, and how many responses hold each. */
  readonly #items = new Map<string, { item: Item; numHolders: number }>();
  #numBytes = 0;

  constructor(limits: StoreLimits) {
    this.#limits = limits;
  }

  /** Responses that are kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** Keeps a response, unless it alone is more than fits. */
  put(stored: StoredResponse): void {
    const { id } = stored.response;
    const numBytes = bytesOf(stored);
    this.delete(id);
    this.#entries.set(id, { ...stored, numBytes });
    for (const item of itemsOf(stored)) {
      const numHolders = (this.#items.get(item.id)?.numHolders ?? 0) + 1;
      this.#items.set(item.id, { item, numHolders });
    }
    this.#numBytes += numBytes;
    const { maxStoredResponses, maxStoredBytes } = this.#limits;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxStoredResponses && this.#numBytes <= maxStoredBytes) return;
      this.delete(oldest);
    }
  }

  /** A response, which now is the last one used; undefined where it is not kept. */
  get(id: string): StoredResponse | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry;
  }

  /** Forgets a response. @returns whether there was one */
  delete(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    this.#numBytes -= entry.numBytes;
    for (const item of itemsOf(entry)) this.#letGo(item);
    return this.#entries.delete(id);
  }

  /** An item of a response that is kept, of its output or of its conversation. */
  findItem(id: string): Item | undefined {
    return this.#items.get(id)?.item;
  }

  #letGo({ id }: Item): void {
    const held = this.#items.get(id);
    if (held === undefined) return;
    held.numHolders -= 1;
    if (held.numHolders === 0) this.#items.delete(id);
  }
}
