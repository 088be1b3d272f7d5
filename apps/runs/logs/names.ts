/** Texts that repeat, each kept once under a number. */

/** Numbers of texts, from 0 in the order in which they came. */
export class Names {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];

  /** The number of a text, a new one where it is new. */
  numberOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.#texts.length);
    return this.#texts.push(text) - 1;
  }

  /** All texts by their numbers. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  /** Forgets all of them. */
  clear(): void {
    this.#numbers.clear();
    this.#texts.length = 0;
  }
}
