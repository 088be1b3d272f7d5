/** From documents to passages. */
import { checkOptions, type OptionKinds, optionsOf } from "../../base/check-options.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import type { Tokenizer } from "../../text/tokenizers/tokenizer.ts";
import type { Document } from "./document.ts";
import type { Passage } from "./passage.ts";
import { type PieceSize, splitByParagraphs, splitBySentences, splitByWords } from "./split-text.ts";
import { tokenSplitter } from "./split-tokens.ts";

/** How documents are cut. */
export interface SplitOptions {
  /**
   * `words`: with one space between, as the published 100-word splits; `tokens`: between words, counted by `tokenizer`;
   * `sentences`: whole ones; `paragraphs`: whole ones where they fit, else sentences, else words. @default "words"
   */
  readonly by?: "words" | "tokens" | "sentences" | "paragraphs";
  /** The length of a passage, in sentences, tokens, or words (of paragraphs too). @default 100 */
  readonly size?: number;
  /** What the next passage of a document repeats, in the same unit. @default 0 */
  readonly overlap?: number;
  /**
   * A passage's id: the document's with the number in it (`12-0`), or the number among all passages, as in the published
   * splits. @default "document"
   */
  readonly ids?: "document" | "running";
  /** Counts `tokens`. */
  readonly tokenizer?: Tokenizer | undefined;
  readonly signal?: AbortSignal | undefined;
}

const cutKinds: OptionKinds<Omit<SplitOptions, "signal">> = {
  by: ["words", "tokens", "sentences", "paragraphs"],
  size: "number",
  overlap: "number",
  ids: ["document", "running"],
  tokenizer: "object",
};

/** What `splitDocuments` takes. */
export const splitKinds: OptionKinds<SplitOptions> = { ...cutKinds, signal: "signal" };

/** Of an option `split`. */
export const splitKind = optionsOf<Omit<SplitOptions, "signal">>(cutKinds);

type Splitter = (text: string) => string[];

function checkSize({ size, overlap }: PieceSize): void {
  if (!Number.isInteger(size) || size < 1)
    throw new SeekError("ERR_RANGE", `size: expected a whole number of at least 1, got ${size}`);
  if (!Number.isInteger(overlap) || overlap < 0 || overlap >= size)
    throw new SeekError(
      "ERR_RANGE",
      `overlap: expected a whole number from 0 to ${size - 1}, got ${overlap}`,
    );
}

/** The function that cuts one text. */
function splitterOf({ by = "words", size = 100, overlap = 0, tokenizer }: SplitOptions): Splitter {
  const pieceSize = { size, overlap };
  checkSize(pieceSize);
  if (by === "words") return (text) => splitByWords(text, pieceSize);
  if (by === "sentences") return (text) => splitBySentences(text, pieceSize);
  if (by === "paragraphs") return (text) => splitByParagraphs(text, pieceSize);
  if (tokenizer === undefined)
    throw new SeekError("ERR_ARGUMENT", "tokenizer: expected one to split by tokens, got none");
  return tokenSplitter(tokenizer, pieceSize);
}

/** Cuts documents one at a time. */
export class DocumentSplitter {
  readonly #split: Splitter;
  readonly #isRunning: boolean;
  #numPassages: number;

  /**
   * @param options how to cut
   * @param numPassages how many passages there are already, where running ids go on
   * @throws ERR_RANGE, ERR_ARGUMENT
   */
  constructor(options: SplitOptions, numPassages = 0) {
    this.#split = splitterOf(options);
    this.#isRunning = options.ids === "running";
    this.#numPassages = numPassages;
  }

  /** The passages of a document; there are none when its text is blank. */
  split({ id, title, text }: Document): Passage[] {
    const first = this.#numPassages;
    const passages = this.#split(text).map((piece, i) => ({
      id: this.#isRunning ? `${first + i}` : `${id}-${i}`,
      title,
      text: piece,
    }));
    this.#numPassages += passages.length;
    return passages;
  }
}

/**
 * Cuts documents into passages, one document after another, in memory for one document. With the defaults and
 * `ids: "running"` KILT's knowledge source becomes the 100-word split that RAG-R1 published.
 *
 * @param documents in order
 * @param options by what, how long, how named
 * @returns the passages, each with its document's title
 * @throws ERR_RANGE, ERR_ARGUMENT for options, ERR_ABORTED, and whatever `documents` throws
 * @example
 * const documents = [{ id: "d", title: "Ada", text: "one two three four five" }];
 * for await (const { id, text } of splitDocuments(documents, { size: 3 })) console.log(id, text); // d-0 one two three ...
 */
export async function* splitDocuments(
  documents: Iterable<Document> | AsyncIterable<Document>,
  options: SplitOptions = {},
): AsyncGenerator<Passage> {
  checkOptions("splitDocuments", options, splitKinds);
  const splitter = new DocumentSplitter(options);
  for await (const document of documents) {
    throwIfAborted(options.signal, "split");
    for (const passage of splitter.split(document)) yield passage;
  }
}
