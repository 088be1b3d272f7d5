/** Compiles constraints for a vocabulary and follows the texts that are held to them. */
import type { CompiledGrammar, GrammarCompiler, GrammarMatcher } from "@mlc-ai/web-xgrammar";
import { SeekError } from "../../base/errors.ts";
import { byteLevelOf } from "../../text/tokenizers/byte-alphabet.ts";
import type { TokenTable } from "../vocabulary.ts";
import type { Constraint } from "./constraint.ts";
import { checkReadable, openInstance } from "./xgrammar.ts";

/** White space between the parts of JSON: enough for a usual layout, too little for a model to lose itself in. */
const mostSpaces = 16;

/** Grammars that stay compiled, the latest used. */
const mostCompiled = 32;

/** A text so far. */
export interface TextMatcher {
  /** Goes on with ids that the mask allowed, and gives the next mask: bit id % 32 of word id / 32, i32 [V / 32]. */
  next(ids: Int32Array): Promise<Int32Array>;
  close(): void;
}

/** What an instance of the library holds for one vocabulary. */
interface Library {
  readonly matchers: typeof GrammarMatcher;
  readonly compiler: GrammarCompiler;
}

/** The constraints of one engine. */
export class Constraints {
  readonly #table: TokenTable;
  readonly #vocabSize: number;
  readonly #compiled = new Map<string, Promise<CompiledGrammar>>();
  #library: Promise<Library> | undefined;

  /** `vocabSize` is the model's, which may be more than the tokenizer's. */
  constructor(table: TokenTable, vocabSize: number) {
    this.#table = table;
    this.#vocabSize = vocabSize;
  }

  /**
   * Begins a text.
   *
   * @param constraint - is compiled at its first use
   * @param stopIds - end the text
   * @throws ERR_ARGUMENT for a constraint that cannot be read
   */
  async open(constraint: Constraint, stopIds: readonly number[]): Promise<TextMatcher> {
    this.#library ??= this.#open();
    const { matchers, compiler } = await this.#library;
    const followed = await matchers.createGrammarMatcher(await this.#compile(constraint, compiler), [
      ...stopIds,
    ]);
    return {
      next: (ids) => {
        const wrong = ids.find((id) => !followed.acceptToken(id));
        if (wrong === undefined) return followed.getNextTokenBitmask();
        throw new SeekError("ERR_INTERNAL", `constraint: id ${wrong} was drawn although it is masked`);
      },
      close: () => followed.dispose(),
    };
  }

  #compile(constraint: Constraint, compiler: GrammarCompiler): Promise<CompiledGrammar> {
    const key = JSON.stringify(constraint);
    const known = this.#compiled.get(key) ?? compileAnew(constraint, compiler);
    this.#compiled.delete(key);
    this.#compiled.set(key, known);
    known.catch(() => this.#compiled.delete(key));
    const [oldest] = this.#compiled;
    if (oldest !== undefined && this.#compiled.size > mostCompiled) {
      this.#compiled.delete(oldest[0]);
      oldest[1].then((grammar) => grammar.dispose()).catch(() => {});
    }
    return known;
  }

  // Marks have no text here, so that no constraint takes one for its spelling.
  async #open(): Promise<Library> {
    const { library } = openInstance();
    const table = this.#table;
    const pieces = Array.from({ length: table.vocabSize }, (_, id) => {
      const isMark = table.eosIds.includes(id) || table.isSpecial(id);
      return isMark ? "" : byteLevelOf(table.tokenBytes(id));
    });
    const { TokenizerInfo, GrammarCompiler, GrammarMatcher } = library;
    const info = await TokenizerInfo.createTokenizerInfo(pieces, "byte_level", false, this.#vocabSize, [
      ...table.eosIds,
    ]);
    return { matchers: GrammarMatcher, compiler: await GrammarCompiler.createGrammarCompiler(info, false) };
  }
}

async function compileAnew(
  { jsonSchema, regex, grammar = "" }: Constraint,
  compiler: GrammarCompiler,
): Promise<CompiledGrammar> {
  if (jsonSchema !== undefined) {
    const layout = [JSON.stringify(jsonSchema), true, undefined, undefined, true, mostSpaces] as const;
    await checkReadable(({ Grammar }) => Grammar.fromJSONSchema(...layout));
    return compiler.compileJSONSchema(...layout);
  }
  if (regex !== undefined) {
    const tag = { type: "structural_tag", format: { type: "regex", pattern: regex } } as const;
    await checkReadable(({ Grammar }) => Grammar.fromStructuralTag(tag));
    return compiler.compileStructuralTag(tag);
  }
  await checkReadable(({ Grammar }) => Grammar.fromEBNF(grammar));
  return compiler.compileGrammar(grammar);
}
