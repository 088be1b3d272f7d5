/** Which of many answers stand in texts: their normalised words in a row, titles not counted. */
import type { Handle } from "../../base/addon/handle.ts";
import { native } from "../../base/addon/native.ts";
import { type CutTexts, cutBatches, Lexicon, type StreamOptions, type TextStream } from "./lexicon.ts";
import { answerWords } from "./normalize.ts";

const answerLexicon = new Lexicon({
  separators: "spaces",
  hasTitle: false,
  meaningOf: (token) => {
    const words = answerWords(token);
    return { words, terms: words, letters: [], stops: [] };
  },
});

/**
 * Cuts texts into the words that SQuAD's normaliser gives, on the search threads.
 *
 * @param texts strings, or the texts of a store's passages
 * @returns the texts in the same order, to be disposed of
 * @throws ERR_RANGE for passages that are not there, ERR_STATE for a closed store
 */
export function cutAnswers(texts: Parameters<Lexicon["cut"]>[0]): Promise<CutTexts> {
  return answerLexicon.cut(texts);
}

/** Phrases that are looked for in texts. An answer of which normalising leaves nothing stands nowhere. */
export class PhraseTable {
  readonly #handle: Handle<"phrases">;

  private constructor(handle: Handle<"phrases">) {
    this.#handle = handle;
  }

  /**
   * Takes phrases.
   *
   * @param phrases numbered from 0; normalised as answers are
   * @example
   * const table = await PhraseTable.of(["New York"]);
   * assert.deepEqual(await table.findIn(["the new, york!", "York"]), [[0], []]);
   */
  static async of(phrases: readonly string[]): Promise<PhraseTable> {
    using cut = await cutAnswers(phrases);
    return new PhraseTable(native().phrasesCreate(cut.handle));
  }

  /** The phrases in each text, ascending. */
  async findIn(texts: readonly string[]): Promise<number[][]> {
    using cut = await cutAnswers(texts);
    const pairs = await native().phrasesIn(this.#handle, cut.handle);
    const found: number[][] = texts.map(() => []);
    for (let i = 0; i < pairs.length; i += 2) found[pairs[i] ?? 0]?.push(pairs[i + 1] ?? 0);
    return found;
  }

  /**
   * Notes which phrases stand in a corpus of any size.
   *
   * @param texts texts, or passages of a store
   * @param options `onProgress`, `signal`
   * @throws ERR_ABORTED
   */
  async mark(texts: TextStream, { onProgress, signal }: StreamOptions = {}): Promise<void> {
    let done = 0;
    for await (const cut of cutBatches(texts, { signal, cut: cutAnswers })) {
      await native().phrasesMark(this.#handle, cut.handle);
      done += cut.size;
      onProgress?.(done);
    }
  }

  /** For each phrase whether it was noted. */
  marked(): boolean[] {
    return Array.from(native().phrasesMarked(this.#handle), (mark) => mark === 1);
  }
}
