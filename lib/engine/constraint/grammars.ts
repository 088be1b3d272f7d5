/** Reads constraints for a vocabulary and follows the texts that are held to them; runs on a thread of its own. */
import type { PackedBytes } from "../vocabulary.ts";
import type { Constraint } from "./constraint.ts";
import { Automaton, type State } from "./grammar/automaton.ts";
import type { Expression } from "./grammar/expression.ts";
import { readGrammar } from "./grammar/gbnf.ts";
import { TokenTrie } from "./grammar/token-trie.ts";
import { jsonSchemaGrammar } from "./json-schema/json-schema.ts";
import { regexGrammar } from "./regex.ts";
import { readStructuralTag } from "./structural-tag.ts";

/** Constraints that stay read, the latest used. */
const mostRead = 32;
/** Tries that stay made, one for each choice of marks that stand for their text. */
const mostTries = 4;

/** What texts are made of. */
export interface GrammarVocabulary extends PackedBytes {
  /** The model's, which may be more than the tokenizer's. */
  readonly vocabSize: number;
  readonly eosIds: readonly number[];
  /** Ids that are marks and no text, with their spelling. */
  readonly marks: readonly (readonly [id: number, text: string])[];
}

/** A text so far. */
export interface FollowedText {
  /** Goes on with ids that the mask allowed, and gives the next mask: bit id % 32 of word id / 32, i32 [V / 32]. */
  next(ids: Int32Array): Promise<Int32Array>;
  close(): void;
}

/** The grammars of one engine. */
export class Grammars {
  readonly #vocabulary: GrammarVocabulary;
  readonly #tries = new Map<string, TokenTrie>();
  readonly #read = new Map<string, Grammar>();

  constructor(vocabulary: GrammarVocabulary) {
    this.#vocabulary = vocabulary;
  }

  /**
   * Begins a text.
   *
   * @param json - of a {@link Constraint}, which is read at its first use
   * @param stopIds - end the text
   * @throws ERR_ARGUMENT for one that cannot be read
   */
  open(json: string, stopIds: readonly number[]): Following {
    const read = (): Grammar => {
      const constraint = JSON.parse(json) as Constraint;
      const spelledIds = constraint.structuralTag === undefined ? [] : this.#spelledIn(json);
      const trie = latest(this.#tries, spelledIds.join(), mostTries, () => this.#trie(new Set(spelledIds)));
      return new Grammar(expressionOf(constraint), trie);
    };
    return new Following(latest(this.#read, json, mostRead, read), stopIds);
  }

  /** Marks that stand for their text. */
  #spelledIn(json: string): number[] {
    const spelled = this.#vocabulary.marks.filter(([, mark]) =>
      json.includes(JSON.stringify(mark).slice(1, -1)),
    );
    return spelled.map(([id]) => id);
  }

  // Marks have no text here, so that no constraint takes one for its spelling, unless it asks for it.
  #trie(spelledIds: ReadonlySet<number>): TokenTrie {
    const { vocabSize, eosIds, marks } = this.#vocabulary;
    const markIds = marks.map(([id]) => id);
    const textless = new Set([...eosIds, ...markIds.filter((id) => !spelledIds.has(id))]);
    return new TokenTrie(this.#vocabulary, vocabSize, textless);
  }
}

function expressionOf({ jsonSchema, regex, grammar, structuralTag }: Constraint): Expression {
  if (structuralTag !== undefined) return readStructuralTag(structuralTag);
  if (jsonSchema !== undefined) return readGrammar(jsonSchemaGrammar(jsonSchema));
  return readGrammar(regex === undefined ? (grammar ?? "") : regexGrammar(regex));
}

/** What is under a key, made at its first use; beyond the most the longest unused is dropped. */
function latest<T>(all: Map<string, T>, key: string, most: number, make: () => T): T {
  const known = all.get(key) ?? make();
  all.delete(key);
  all.set(key, known);
  const [oldest] = all.keys();
  if (oldest !== undefined && all.size > most) all.delete(oldest);
  return known;
}

/** A grammar over the tokens of a vocabulary. */
class Grammar {
  readonly automaton: Automaton;
  readonly trie: TokenTrie;

  constructor(root: Expression, trie: TokenTrie) {
    this.automaton = new Automaton(root);
    this.trie = trie;
  }
}

/** A text that is being followed. */
export class Following {
  readonly #grammar: Grammar;
  readonly #stopIds: ReadonlySet<number>;
  #state: State;

  constructor(grammar: Grammar, stopIds: readonly number[]) {
    this.#grammar = grammar;
    this.#stopIds = new Set(stopIds);
    this.#state = grammar.automaton.start;
  }

  /** Goes on with ids. @returns the next mask, i32 [V / 32] */
  next(ids: Int32Array): Int32Array {
    const { automaton, trie } = this.#grammar;
    automaton.begin();
    for (const id of ids) if (!this.#stopIds.has(id)) this.#state = trie.after(automaton, this.#state, id);
    const near = automaton.nearby(this.#state, trie.longest);
    near.mask ??= trie.maskOf(automaton, near);
    const mask = near.mask.slice();
    for (const id of this.#stopIds) {
      const [word, bit] = [mask[id >> 5] as number, 1 << (id & 31)];
      mask[id >> 5] = this.#state.isWhole ? word | bit : word & ~bit;
    }
    return mask;
  }
}
