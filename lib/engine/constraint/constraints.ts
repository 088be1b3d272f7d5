/** Constraints as an engine asks for them; the grammars behind them live on a thread of their own. */
import { messageOf, SeekError } from "../../base/errors.ts";
import { jsonText } from "../../base/slices/json-text.ts";
import type { PackedBytes, TokenTable } from "../vocabulary.ts";
import type { Constraint } from "./constraint.ts";
import { GrammarWorker } from "./grammar-worker.ts";
import type { FollowedText } from "./grammars.ts";

/**
 * Characters of a constraint as JSON: what it costs to read is bounded before it is read. 20,000 identifiers of 36 characters are
 * 780,000.
 */
const mostCharacters = 2_000_000;

/** The constraints of one engine. A thread starts with the first of them; it keeps the process alive while it works. */
export class Constraints {
  readonly #worker: GrammarWorker;

  /** @param vocabSize - the model's, which may be more than the tokenizer's */
  constructor(table: TokenTable, { vocabSize, ...packed }: PackedBytes & { readonly vocabSize: number }) {
    const ids = Array.from({ length: table.vocabSize }, (_, id) => id);
    const markIds = ids.filter((id) => table.isSpecial(id));
    const marks = markIds.map((id) => [id, Buffer.from(table.tokenBytes(id)).toString()] as const);
    this.#worker = new GrammarWorker({ ...packed, vocabSize, eosIds: [...table.eosIds], marks });
  }

  /**
   * Begins a text.
   *
   * @param constraint - is read at its first use, in fair turns
   * @param stopIds - end the text
   * @param signal - gives up what has not begun to be read
   * @throws ERR_ARGUMENT for a constraint that cannot be read, or is too large; ERR_ABORTED
   */
  async open(
    constraint: Constraint,
    stopIds: readonly number[],
    signal?: AbortSignal,
  ): Promise<FollowedText> {
    const text = await this.#worker.open(await jsonOf(constraint), [...stopIds], signal);
    return { next: (ids) => this.#worker.next(text, ids), close: () => this.#worker.forget(text) };
  }

  /** Ends the thread; texts are not followed any more. */
  async close(): Promise<void> {
    await this.#worker.close();
  }
}

async function jsonOf(constraint: Constraint): Promise<string> {
  const json = await jsonText(constraint, mostCharacters).catch((error: unknown) => {
    const what = error instanceof SeekError ? error.message : `expected JSON: ${messageOf(error)}`;
    throw new SeekError("ERR_ARGUMENT", `constraint: ${what}`);
  });
  if (json !== undefined) return json;
  const expected = `at most ${mostCharacters.toLocaleString("en-US")} characters of JSON`;
  throw new SeekError("ERR_ARGUMENT", `constraint: expected ${expected}, got more; fewer or shorter values`);
}
