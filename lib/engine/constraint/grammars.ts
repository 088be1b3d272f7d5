/** Compiles constraints for a vocabulary and follows the texts that are held to them; runs on a thread of its own. */
import type { CompiledGrammar, GrammarCompiler, GrammarMatcher } from "@mlc-ai/web-xgrammar";
import { SeekError } from "../../base/errors.ts";
import { byteLevelOf } from "../../text/tokenizers/byte-alphabet.ts";
import type { PackedBytes } from "../vocabulary.ts";
import { checkReadable, openInstance } from "./xgrammar.ts";

/** Grammars that stay compiled, the latest used. */
const mostCompiled = 32;
/** Vocabularies that stay read, one for each choice of marks that stand for their text. */
const mostLibraries = 4;

/** What grammars are compiled for. */
export interface GrammarVocabulary extends PackedBytes {
  /** The model's, which may be more than the tokenizer's. */
  readonly vocabSize: number;
  readonly eosIds: readonly number[];
  /** Ids that are marks and no text. */
  readonly markIds: readonly number[];
}

/** What is compiled: an expression, a grammar in GBNF, or the JSON of a structural tag. */
export interface GrammarSource {
  readonly regex?: string | undefined;
  readonly grammar?: string | undefined;
  readonly structuralTag?: string | undefined;
  /** Marks that stand for their text; none where there is no structural tag. */
  readonly spelledIds?: readonly number[] | undefined;
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
  readonly compiled: Map<string, Promise<CompiledGrammar>>;
}

/** The grammars of one engine. */
export class Grammars {
  readonly #vocabulary: GrammarVocabulary;
  readonly #libraries = new Map<string, Promise<Library>>();

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
    const { matchers, compiler, compiled } = await this.#library(source.spelledIds ?? []);
    const grammar = await latest(compiled, JSON.stringify(source), {
      make: () => compileAnew(source, compiler),
      drop: (oldest) => oldest.dispose(),
      most: mostCompiled,
    });
    const followed = await matchers.createGrammarMatcher(grammar, [...stopIds]);
    return {
      next: (ids) => {
        const wrong = ids.find((id) => !followed.acceptToken(id));
        if (wrong === undefined) return followed.getNextTokenBitmask();
        throw new SeekError("ERR_INTERNAL", `constraint: id ${wrong} was drawn although it is masked`);
      },
      close: () => followed.dispose(),
    };
  }

  #library(spelledIds: readonly number[]): Promise<Library> {
    return latest(this.#libraries, spelledIds.join(), {
      make: () => this.#open(new Set(spelledIds)),
      drop: () => {},
      most: mostLibraries,
    });
  }

  // Marks have no text here, so that no constraint takes one for its spelling, unless it asks for it.
  async #open(spelledIds: ReadonlySet<number>): Promise<Library> {
    const { library } = openInstance();
    const { bytes, starts, vocabSize, eosIds, markIds } = this.#vocabulary;
    const textless = new Set([...eosIds, ...markIds.filter((id) => !spelledIds.has(id))]);
    const pieces = Array.from({ length: starts.length - 1 }, (_, id) =>
      textless.has(id) ? "" : byteLevelOf(bytes.subarray(starts[id], starts[id + 1])),
    );
    const { TokenizerInfo, GrammarCompiler, GrammarMatcher } = library;
    const info = await TokenizerInfo.createTokenizerInfo(pieces, "byte_level", false, vocabSize, [...eosIds]);
    const compiler = await GrammarCompiler.createGrammarCompiler(info, false);
    return { matchers: GrammarMatcher, compiler, compiled: new Map() };
  }
}

/** How things of one kind are made and kept. */
interface Keeping<T> {
  readonly make: () => Promise<T>;
  readonly drop: (oldest: T) => void;
  readonly most: number;
}

/** What is under a key, made at its first use; beyond the most the longest unused is dropped. */
function latest<T>(all: Map<string, Promise<T>>, key: string, { make, drop, most }: Keeping<T>): Promise<T> {
  const known = all.get(key) ?? make();
  all.delete(key);
  all.set(key, known);
  known.catch(() => all.delete(key));
  const [oldest] = all;
  if (oldest !== undefined && all.size > most) {
    all.delete(oldest[0]);
    oldest[1].then(drop).catch(() => {});
  }
  return known;
}

async function compileAnew(
  { regex, grammar = "", structuralTag }: GrammarSource,
  compiler: GrammarCompiler,
): Promise<CompiledGrammar> {
  const expression = { type: "structural_tag", format: { type: "regex", pattern: regex } };
  const tag = regex === undefined ? structuralTag : JSON.stringify(expression);
  if (tag !== undefined) {
    await checkReadable(({ Grammar }) => Grammar.fromStructuralTag(tag));
    return compiler.compileStructuralTag(tag);
  }
  await checkReadable(({ Grammar }) => Grammar.fromEBNF(grammar));
  return compiler.compileGrammar(grammar);
}
