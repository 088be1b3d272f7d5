/** Constraints as an engine asks for them; the grammars behind them live on a thread of their own. */
import type { PackedBytes, TokenTable } from "../vocabulary.ts";
import type { Constraint } from "./constraint.ts";
import { GrammarWorker } from "./grammar-worker.ts";
import type { FollowedText, GrammarSource } from "./grammars.ts";
import { jsonSchemaGrammar } from "./json-schema/json-schema.ts";
import { structuralTagText } from "./structural-tag.ts";

/** A schema with several long strings takes 10 s for 150,000 tokens; all else that is held to a form waits meanwhile. */
const defaultCompileMs = 30_000;

/** The constraints of one engine. The thread starts with the first of them and keeps the process alive while it works. */
export class Constraints {
  readonly #worker: GrammarWorker;
  /** Special tokens with their texts. */
  readonly #marks: readonly (readonly [id: number, text: string])[];

  /**
   * @param vocabSize - the model's, which may be more than the tokenizer's
   * @param options - `compileMs`: how long a constraint may take to compile, milliseconds, `@default 30000`
   */
  constructor(
    table: TokenTable,
    { vocabSize, ...packed }: PackedBytes & { readonly vocabSize: number },
    { compileMs = defaultCompileMs }: { readonly compileMs?: number } = {},
  ) {
    const ids = Array.from({ length: table.vocabSize }, (_, id) => id);
    const markIds = ids.filter((id) => table.isSpecial(id));
    this.#worker = new GrammarWorker({ ...packed, vocabSize, eosIds: [...table.eosIds], markIds }, compileMs);
    this.#marks = markIds.map((id) => [id, Buffer.from(table.tokenBytes(id)).toString()]);
  }

  /**
   * Begins a text.
   *
   * @param constraint - is compiled at its first use
   * @param stopIds - end the text
   * @param signal - gives up what has not begun to compile
   * @throws ERR_ARGUMENT for a constraint that cannot be read, or not in time; ERR_ABORTED
   */
  async open(
    constraint: Constraint,
    stopIds: readonly number[],
    signal?: AbortSignal,
  ): Promise<FollowedText> {
    const text = await this.#worker.open(this.#sourceOf(constraint), [...stopIds], signal);
    return {
      next: (ids) => this.#worker.next(text, ids),
      close: () => this.#worker.forget(text),
    };
  }

  #sourceOf({ jsonSchema, regex, grammar, structuralTag }: Constraint): GrammarSource {
    if (jsonSchema !== undefined) return { grammar: jsonSchemaGrammar(jsonSchema) };
    if (structuralTag === undefined) return regex === undefined ? { grammar } : { regex };
    const text = structuralTagText(structuralTag);
    const marks = this.#marks.filter(([, mark]) => text.includes(JSON.stringify(mark).slice(1, -1)));
    return { structuralTag: text, spelledIds: marks.map(([id]) => id) };
  }

  /** Ends the thread; texts are not followed any more. */
  async close(): Promise<void> {
    await this.#worker.close();
  }
}
