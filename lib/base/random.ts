/** Seeds that follow from names, and draws that follow from seeds: the same on every machine. */

/**
 * Mixes a run's seed with a name and a number (FNV-1a over the text, then MurmurHash3's last mixing step).
 *
 * @param seed - of the run
 * @param name - what draws: a question's id, a step, an epoch
 * @param index - distinguishes those of one name, such as the samples of a question
 * @returns an unsigned 32-bit seed
 */
export function mixSeed(seed: number, name: string, index: number): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${seed}:${index}:${name}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A small deterministic generator (splitmix32) with few draws. */
export class Dice {
  #state: number;

  /** @param seeds mixed in order, so that `(seed, stream)` pairs give unrelated sequences. */
  constructor(...seeds: readonly number[]) {
    this.#state = 0x9e3779b9;
    for (const seed of seeds) {
      this.#state = (this.#state ^ (seed | 0)) | 0;
      this.next();
    }
  }

  /** @returns a number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 4294967296;
  }

  /** @returns an integer in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** @returns `count` distinct items in random order (all of them when there are fewer). */
  sample<T>(items: readonly T[], count: number): T[] {
    const pool = items.slice();
    const taken = Math.min(count, pool.length);
    for (let i = 0; i < taken; i++) {
      const j = i + this.below(pool.length - i);
      [pool[i], pool[j]] = [pool[j]!, pool[i]!];
    }
    return pool.slice(0, taken);
  }

  /** @returns one key, drawn in proportion to its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const keys = Object.keys(weights) as K[];
    let rest = this.next() * keys.reduce((sum, key) => sum + weights[key], 0);
    for (const key of keys) {
      rest -= weights[key];
      if (rest < 0) return key;
    }
    return keys[keys.length - 1]!;
  }
}
