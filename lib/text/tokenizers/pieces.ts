/** What each token id stands for in bytes, and how pieces are put together to text. */
import { TextDecoder } from "node:util";
import { SeekError } from "../../base/errors.ts";

/**
 * What happens to spaces at the very start of a text: at most `maxSpaces` are dropped, from the first token only or
 * from as many tokens as hold nothing else.
 */
export interface Lead {
  readonly scope: "token" | "text";
  readonly maxSpaces: number;
  /** Ids whose spaces always stay. */
  readonly exempt?: ReadonlySet<number>;
}

const space = 0x20;

/** The table id -> bytes of one tokenizer, with its rule for the start of a text. */
export class PieceTable {
  readonly #bytes: readonly (Uint8Array | undefined)[];
  readonly #numRows: number;
  readonly lead: Lead;

  constructor(
    bytes: readonly (Uint8Array | undefined)[],
    lead: Lead = { scope: "token", maxSpaces: 0 },
    numRows = bytes.length,
  ) {
    this.#bytes = bytes;
    this.#numRows = Math.max(numRows, bytes.length);
    this.lead = lead;
  }

  /** The same for a model with so many rows: what it may sample beyond the largest id stands for no bytes. */
  withRows(numRows: number): PieceTable {
    return new PieceTable(this.#bytes, this.lead, numRows);
  }

  /** One more than the largest id. */
  get size(): number {
    return this.#bytes.length;
  }

  /** The bytes of one id; empty where the vocabulary has a hole. @throws ERR_RANGE for an id outside of it */
  bytes(id: number): Uint8Array {
    if (id >= 0 && id < this.#numRows) return this.#bytes[id] ?? new Uint8Array(0);
    throw new SeekError("ERR_RANGE", `token id: expected 0..${this.#numRows - 1}, got ${id}`);
  }
}

/** Puts pieces together in order, applying the table's rule for the start of the text. */
export class PieceJoiner {
  readonly #table: PieceTable;
  #spacesLeft: number;

  constructor(table: PieceTable) {
    this.#table = table;
    this.#spacesLeft = table.lead.maxSpaces;
  }

  /** The bytes that `id` adds to the text so far. */
  next(id: number): Uint8Array {
    const bytes = this.#table.bytes(id);
    if (this.#spacesLeft === 0) return bytes;
    let start = 0;
    const isExempt = this.#table.lead.exempt?.has(id) ?? false;
    while (!isExempt && start < bytes.length && start < this.#spacesLeft && bytes[start] === space)
      start += 1;
    const isLeadOver = this.#table.lead.scope === "token" || start < bytes.length;
    this.#spacesLeft = isLeadOver ? 0 : this.#spacesLeft - start;
    return bytes.subarray(start);
  }
}

/** UTF-8 to text; what is not UTF-8 becomes U+FFFD, and a byte order mark stays. */
export function newTextDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}
