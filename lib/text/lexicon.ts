/** Cuts many texts into words and terms natively; the rules stay in words.ts, which is asked once for each raw token. */
import { setImmediate } from "node:timers/promises";
import type { Handle } from "../base/addon.ts";
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

  constructor(handle: Handle<"cutTexts">) {
    this.handle = handle;
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
  return new CutTexts(cut);
}
