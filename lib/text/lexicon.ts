/** Cuts many texts into words and terms natively; the rules stay in words.ts, which is asked once for each raw token. */
import { setImmediate } from "node:timers/promises";
import type { Handle } from "../base/addon.ts";
import { batchesOf } from "../base/batches.ts";
import { throwIfAborted } from "../base/errors.ts";
import { native } from "../base/native.ts";
import { termsOf, wordsOf } from "./words.ts";

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
/** As many as take a millisecond. */
const tokensPerTurn = 400;

let lexicon: Handle<"lexicon"> | undefined;

/** Cuts that are under way keep the lexicon they began with, so a full one is left to them. */
function currentLexicon(): Handle<"lexicon"> {
  if (lexicon === undefined || native.lexiconBytes(lexicon) > maxLexiconBytes)
    lexicon = native.lexiconCreate();
  return lexicon;
}

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
    return native.cutWords(this.handle);
  }

  [Symbol.dispose](): void {
    native.cutClose(this.handle);
  }
}

async function learn(cut: Handle<"cutTexts">, unknown: string): Promise<void> {
  const words: string[] = [];
  const terms: string[] = [];
  for (const [i, token] of unknown.split("\n").entries()) {
    // The event loop must not wait for thousands of stems.
    if (i % tokensPerTurn === tokensPerTurn - 1) await setImmediate();
    const folded = wordsOf(token);
    words.push(folded.join(" "));
    terms.push(termsOf(folded).join(" "));
  }
  await native.cutLearn(cut, words.join("\n"), terms.join("\n"));
}

/**
 * Cuts texts on the search threads.
 *
 * @param texts strings, or passages of a store, which never cross into JavaScript
 * @returns what BM25 and the hashed embedder take, in the same order; to be disposed of
 * @throws ERR_RANGE for passages that are not there, ERR_STATE for a closed store
 */
export async function cutTexts(texts: TextSource): Promise<CutTexts> {
  const into = currentLexicon();
  const { cut, unknown } = await ("store" in texts
    ? native.lexiconCutPassages(into, texts.store.handle, texts.first, texts.count)
    : native.lexiconCut(into, texts));
  if (unknown !== "") await learn(cut, unknown);
  return new CutTexts(cut, "store" in texts ? texts.count : texts.length);
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
 * @param options `signal`: heeded before every batch
 * @returns the texts in order; a batch is freed when the next one is asked for
 * @throws ERR_ABORTED, and what {@link cutTexts} and `texts` throw
 */
export async function* cutBatches(
  texts: TextStream,
  { signal }: Pick<StreamOptions, "signal"> = {},
): AsyncGenerator<CutTexts> {
  let next: Promise<CutTexts> | undefined;
  try {
    for await (const batch of batchesIn(texts)) {
      throwIfAborted(signal, "texts");
      const current = next;
      next = cutTexts(batch);
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
