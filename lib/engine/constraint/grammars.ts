/** Compiles constraints for a vocabulary and follows the texts that are held to them; runs on a thread of its own. */
import type { CompiledGrammar, GrammarCompiler, GrammarMatcher } from "@mlc-ai/web-xgrammar";
import { SeekError } from "../../base/errors.ts";
import { byteLevelOf } from "../../text/tokenizers/byte-alphabet.ts";
import type { PackedBytes } from "../vocabulary.ts";
import { checkReadable, openInstance } from "./xgrammar.ts";

/** Grammars that stay compiled, the latest used. */
const mostCompiled = 32;

/** What grammars are compiled for. */
export interface GrammarVocabulary extends PackedBytes {
  /** The model's, which may be more than the tokenizer's. */
  readonly vocabSize: number;
  readonly eosIds: readonly number[];
  /** Ids that are marks and no text. */
  readonly markIds: readonly number[];
}

/** What is compiled: an expression, or a grammar in GBNF. */
export interface GrammarSource {
  readonly regex?: string | undefined;
  readonly grammar?: string | undefined;
}

/** A text so far. */
export interface FollowedText {
  /** Goes on with ids that the mask allowed, and gives the next mask: bit id % 32 of word id / 32, i32 [V / 32]. */
  next(ids: Int32Array): Promise<Int32Array>;
  close(): void;
}

/** What an instance of the library holds for one vocabulary. */
interface Library {
  readonly matchers: typeof GrammarMatcher;
  readonly compiler: GrammarCompiler;
}

/** The grammars of one engine. */
export class Grammars {
  readonly #vocabulary: GrammarVocabulary;
  readonly #compiled = new Map<string, Promise<CompiledGrammar>>();
  #library: Promise<Library> | undefined;

  constructor(vocabulary: GrammarVocabulary) {
    this.#vocabulary = vocabulary;
  }

  /**
   * Begins a text.
   *
   * @param source - is compiled at its first use
   * @param stopIds - end the text
   * @throws ERR_ARGUMENT for a source that cannot be read
   */
  async open(source: GrammarSource, stopIds: readonly number[]): Promise<FollowedText> {
    this.#library ??= this.#open();
    const { matchers, compiler } = await this.#library;
    const followed = await matchers.createGrammarMatcher(await this.#compile(source, compiler), [...stopIds]);
    return {
      next: (ids) => {
        const wrong = ids.find((id) => !followed.acceptToken(id));
        if (wrong === undefined) return followed.getNextTokenBitmask();
        throw new SeekError("ERR_INTERNAL", `constraint: id ${wrong} was drawn although it is masked`);
      },
      close: () => followed.dispose(),
    };
  }

  #compile(source: GrammarSource, compiler: GrammarCompiler): Promise<CompiledGrammar> {
    const key = JSON.stringify(source);
    const known = this.#compiled.get(key) ?? compileAnew(source, compiler);
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
    const { bytes, starts, vocabSize, eosIds, markIds } = this.#vocabulary;
    const textless = new Set([...eosIds, ...markIds]);
    const pieces = Array.from({ length: starts.length - 1 }, (_, id) =>
      textless.has(id) ? "" : byteLevelOf(bytes.subarray(starts[id], starts[id + 1])),
    );
    const { TokenizerInfo, GrammarCompiler, GrammarMatcher } = library;
    const info = await TokenizerInfo.createTokenizerInfo(pieces, "byte_level", false, vocabSize, [...eosIds]);
    return { matchers: GrammarMatcher, compiler: await GrammarCompiler.createGrammarCompiler(info, false) };
  }
}

async function compileAnew(
  { regex, grammar = "" }: GrammarSource,
  compiler: GrammarCompiler,
): Promise<CompiledGrammar> {
  if (regex !== undefined) {
    const tag = { type: "structural_tag", format: { type: "regex", pattern: regex } } as const;
    await checkReadable(({ Grammar }) => Grammar.fromStructuralTag(tag));
    return compiler.compileStructuralTag(tag);
  }
  await checkReadable(({ Grammar }) => Grammar.fromEBNF(grammar));
  return compiler.compileGrammar(grammar);
}
