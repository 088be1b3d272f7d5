/** Tokens and their ids. */

/** No known vocabulary comes near; a table of bytes is made for every id up to the largest. */
export const maxTokenId = 4_000_000;

/** A vocabulary; tokens may be added. */
export class Vocabulary {
  readonly #ids = new Map<string, number>();
  readonly #tokens: (string | undefined)[] = [];

  /** @param ids of each token */
  constructor(ids: Readonly<Record<string, number>> = {}) {
    for (const [token, id] of Object.entries(ids)) this.add(token, id);
  }

  /** Adds a token, or gives it another id. */
  add(token: string, id: number): void {
    this.#ids.set(token, id);
    while (this.#tokens.length < id) this.#tokens.push(undefined);
    this.#tokens[id] = token;
  }

  /** The id of a token. */
  idOf(token: string): number | undefined {
    return this.#ids.get(token);
  }

  /** Ids by token. */
  get ids(): ReadonlyMap<string, number> {
    return this.#ids;
  }

  /** Tokens by id; holes are undefined. */
  get tokens(): readonly (string | undefined)[] {
    return this.#tokens;
  }

  /** The ids of the tokens `<0x00>`... that stand for the bytes of a text; undefined when one is missing. */
  bytesOf(text: string): number[] | undefined {
    const ids: number[] = [];
    for (const byte of Buffer.from(text, "utf8")) {
      const id = this.#ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
      if (id === undefined) return undefined;
      ids.push(id);
    }
    return ids;
  }
}
