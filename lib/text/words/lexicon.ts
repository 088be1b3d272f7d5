/** Cuts many texts into words natively; the rules stay in TypeScript, which is asked once for each raw token. */
import type { Handle } from "../../base/addon/handle.ts";
import { native } from "../../base/addon/native.ts";
import { batchesOf } from "../../base/batches.ts";
import { throwIfAborted } from "../../base/errors.ts";
import { breathe } from "../../base/slices/breathe.ts";
import { type Analyser, type Meaning, meaningOf, usualAnalyser } from "../analysis/words.ts";

/** Passages of a store by number, read natively: title and text as two lines of one text. */
export interface PassageRange {
  readonly store: { readonly handle: Handle<"passageStore"> };
  readonly first: number;
  readonly count: number;
}

/** Texts, or passages of a store. */
export type TextSource = readonly string[] | PassageRange;

/** A corpus: texts as they come, or passages of a store. */
export type TextStream = Iterable<string> | AsyncIterable<string> | PassageRange;

/** Of work over a corpus. */
export interface StreamOptions {
  /** Told how many texts are done, after every batch. */
  readonly onProgress?: ((done: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Small enough that copying the strings holds up the event loop for a millisecond. */
const textsPerBatch = 1024;

/** Some 100 bytes a raw token: more than a million of them. */
const maxLexiconBytes = 2 ** 27;

/** Of a meaning, in the order in which native code takes them. */
const parts = ["words", "terms", "letters", "stops"] as const;
type Lines = [words: string, terms: string, letters: string, stops: string];

/** Texts as words and terms, for native code; `using` frees them. */
export class CutTexts implements Disposable {
  readonly handle: Handle<"cutTexts">;
  /** How many texts. */
  readonly size: number;

  constructor(handle: Handle<"cutTexts">, size: number) {
    this.handle = handle;
    this.size = size;
  }

  /** The words of each text, with spaces between: what `wordsOf` gives. @throws ERR_STATE after dispose */
  words(): string[] {
    return native().cutWords(this.handle);
  }

  [Symbol.dispose](): void {
    native().cutClose(this.handle);
  }
}

/** How texts become words. */
interface Rules {
  /** Where raw tokens end, see native/search/words/lexicon.h; what lies on one side must not change the words on the other. */
  readonly separators: "words" | "spaces";
  /** Whether a passage's title counts, as a line before its text. */
  readonly hasTitle: boolean;
  readonly meaningOf: (token: string) => Meaning;
}

/** Native tables of what raw tokens mean, in bounded memory. */
export class Lexicon {
  readonly #rules: Rules;
  #handle: Handle<"lexicon"> | undefined;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /**
   * Cuts texts on the search threads.
   *
   * @param texts strings, or passages of a store, which never cross into JavaScript
   * @returns the texts in the same order, to be disposed of
   * @throws ERR_RANGE for passages that are not there, ERR_STATE for a closed store
   */
  async cut(texts: TextSource): Promise<CutTexts> {
    const into = this.#current();
    const { cut, unknown } = await ("store" in texts
      ? native().lexiconCutPassages(into, texts.store.handle, texts.first, texts.count, this.#rules.hasTitle)
      : native().lexiconCut(into, texts));
    if (unknown !== "") await this.#learn(cut, unknown);
    return new CutTexts(cut, "store" in texts ? texts.count : texts.length);
  }

  /** Cuts that are under way keep the table they began with, so a full one is left to them. */
  #current(): Handle<"lexicon"> {
    const isFull = this.#handle !== undefined && native().lexiconBytes(this.#handle) > maxLexiconBytes;
    if (this.#handle === undefined || isFull) this.#handle = native().lexiconCreate(this.#rules.separators);
    return this.#handle;
  }

  async #learn(cut: Handle<"cutTexts">, unknown: string): Promise<void> {
    const lines = { words: [], terms: [], letters: [], stops: [] } as Record<keyof Meaning, string[]>;
    for (const token of unknown.split("\n")) {
      // The event loop must not wait for thousands of stems.
      await breathe();
      const meaning = this.#rules.meaningOf(token);
      for (const part of parts) lines[part].push(meaning[part].join(" "));
    }
    const [words, terms, letters, stops] = parts.map((part) => lines[part].join("\n")) as Lines;
    await native().cutLearn(cut, words, terms, letters, stops);
  }
}

const searchLexicons = new Map<string, Lexicon>();

function lexiconOf(analyser: Analyser): Lexicon {
  const key = JSON.stringify([analyser.rules, analyser.language, analyser.stops]);
  const known = searchLexicons.get(key);
  if (known) return known;
  const lexicon = new Lexicon({
    ...{ separators: "words", hasTitle: true },
    meaningOf: (token) => meaningOf(token, analyser),
  });
  searchLexicons.set(key, lexicon);
  return lexicon;
}

/**
 * Cuts texts into the words and terms of search, on the search threads.
 *
 * @param texts strings, or passages of a store, which never cross into JavaScript
 * @param analyser the same for passages and queries, `@default usualAnalyser`
 * @returns what BM25 and the hashed embedder take, in the same order; to be disposed of
 * @throws ERR_RANGE for passages that are not there, ERR_STATE for a closed store
 */
export function cutTexts(texts: TextSource, analyser: Analyser = usualAnalyser): Promise<CutTexts> {
  return lexiconOf(analyser).cut(texts);
}

async function* batchesIn(texts: TextStream): AsyncGenerator<TextSource> {
  if (!("store" in texts)) return yield* batchesOf(texts, textsPerBatch);
  const { store, first, count } = texts;
  for (let done = 0; done < count; done += textsPerBatch)
    yield { store, first: first + done, count: Math.min(textsPerBatch, count - done) };
}

/**
 * Cuts a corpus of any size in batches; while one is in use the next is cut.
 *
 * @param texts read once
 * @param options `signal`: heeded before every batch; `cut`: into what, `@default cutTexts`
 * @returns the texts in order; a batch is freed when the next one is asked for
 * @throws ERR_ABORTED, and what {@link cutTexts} and `texts` throw
 */
export async function* cutBatches(
  texts: TextStream,
  {
    signal,
    cut: cutInto = cutTexts,
  }: Pick<StreamOptions, "signal"> & { readonly cut?: (texts: TextSource) => Promise<CutTexts> } = {},
): AsyncGenerator<CutTexts> {
  let next: Promise<CutTexts> | undefined;
  try {
    for await (const batch of batchesIn(texts)) {
      throwIfAborted(signal, "texts");
      const current = next;
      next = cutInto(batch);
      // Reported where it is awaited, which may be later than it fails.
      next.catch(() => undefined);
      if (current === undefined) continue;
      using cut = await current;
      yield cut;
    }
    if (next !== undefined) yield await next;
  } finally {
    const last = await next?.catch(() => undefined);
    last?.[Symbol.dispose]();
  }
}
