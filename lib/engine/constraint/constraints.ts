/** Constraints as an engine asks for them; the grammars behind them live on a thread of their own. */
import type { PackedBytes, TokenTable } from "../vocabulary.ts";
import type { Constraint } from "./constraint.ts";
import { GrammarWorker, TooSlow } from "./grammar-worker.ts";
import type { FollowedText, GrammarSource } from "./grammars.ts";
import { jsonSchemaGrammar } from "./json-schema/json-schema.ts";
import { structuralTagText } from "./structural-tag.ts";

/**
 * How long a constraint may take to compile, milliseconds. Few take a second, but a schema with several long strings takes 10 s
 * for 150,000 tokens; all that is followed on its thread waits meanwhile.
 */
const defaultCompileMs = { quick: 5000, slow: 30_000 } as const;

/** Milliseconds. */
type CompileMs = Readonly<Record<"quick" | "slow", number>>;

/**
 * The constraints of one engine. A thread starts with the first of them, and a second one with the first that takes long; they keep the
 * process alive while they work.
 */
export class Constraints {
  readonly #quick: GrammarWorker;
  readonly #slow: GrammarWorker;
  /** Special tokens with their texts. */
  readonly #marks: readonly (readonly [id: number, text: string])[];

  /**
   * @param vocabSize - the model's, which may be more than the tokenizer's
   * @param options - `compileMs`: how long a constraint may take to compile beside the others, and on a thread for those that take long, milliseconds,
   *   `@default {quick: 5000, slow: 30000}`
   */
  constructor(
    table: TokenTable,
    { vocabSize, ...packed }: PackedBytes & { readonly vocabSize: number },
    { compileMs = defaultCompileMs }: { readonly compileMs?: CompileMs } = {},
  ) {
    const ids = Array.from({ length: table.vocabSize }, (_, id) => id);
    const markIds = ids.filter((id) => table.isSpecial(id));
    const vocabulary = { ...packed, vocabSize, eosIds: [...table.eosIds], markIds };
    this.#quick = new GrammarWorker(vocabulary, compileMs.quick);
    this.#slow = new GrammarWorker(vocabulary, compileMs.slow);
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
    const source = this.#sourceOf(constraint);
    try {
      return await followed(this.#quick, { source, stopIds, signal });
    } catch (error) {
      if (!(error instanceof TooSlow)) throw error;
      return await followed(this.#slow, { source, stopIds, signal });
    }
  }

  #sourceOf({ jsonSchema, regex, grammar, structuralTag }: Constraint): GrammarSource {
    if (jsonSchema !== undefined) return { grammar: jsonSchemaGrammar(jsonSchema) };
    if (structuralTag === undefined) return regex === undefined ? { grammar } : { regex };
    const text = structuralTagText(structuralTag);
    const marks = this.#marks.filter(([, mark]) => text.includes(JSON.stringify(mark).slice(1, -1)));
    return { structuralTag: text, spelledIds: marks.map(([id]) => id) };
  }

  /** Ends the threads; texts are not followed any more. */
  async close(): Promise<void> {
    await Promise.all([this.#quick.close(), this.#slow.close()]);
  }
}

/** A text to be begun. */
interface Begun {
  readonly source: GrammarSource;
  readonly stopIds: readonly number[];
  readonly signal: AbortSignal | undefined;
}

async function followed(worker: GrammarWorker, { source, stopIds, signal }: Begun): Promise<FollowedText> {
  const text = await worker.open(source, [...stopIds], signal);
  return { next: (ids) => worker.next(text, ids), close: () => worker.forget(text) };
}
