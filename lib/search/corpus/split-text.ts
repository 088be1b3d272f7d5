/** Cuts one text into pieces by words, sentences or paragraphs. */
import { lazyPackage } from "../../base/on-first-use.ts";

const splitter = lazyPackage<typeof import("llm-splitter")>("llm-splitter");

/** How long a piece is and how much of it the next one repeats, in the same unit. */
export interface PieceSize {
  readonly size: number;
  readonly overlap: number;
}

/** What Python's `str.split` parts words at, which made the published splits; it differs from `\s` in a few marks. */
const rareBlanks = "\\t-\\r\\x1c-\\x1f\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const oddBlanks = new RegExp(`[${rareBlanks}][ ${rareBlanks}]*| [ ${rareBlanks}]+`, "g");
const wordPattern = new RegExp(`[^ ${rareBlanks}]+`, "g");
const paragraphPattern = /[^\n]*\n+|[^\n]+/g;
const sentences = new Intl.Segmenter("en", { granularity: "sentence" });

/** A word or sentence and where it stands. */
interface Placed {
  readonly text: string;
  readonly start: number;
}

/** The words of a text: whatever stands between blanks. */
export function placedWords(text: string): Placed[] {
  return Array.from(text.matchAll(wordPattern), (match) => ({ text: match[0], start: match.index }));
}

/** How many words a text has. */
function countWords(text: string): number {
  return text.match(wordPattern)?.length ?? 0;
}

/** The words of a text with exactly one space between. */
function singleSpaced(text: string): string {
  const spaced = text.replace(oddBlanks, " ");
  return spaced.slice(spaced.startsWith(" ") ? 1 : 0, spaced.endsWith(" ") ? -1 : undefined);
}

/** Where each word ends. */
function wordEnds(words: string): number[] {
  const ends: number[] = [];
  for (let at = words.indexOf(" "); at >= 0; at = words.indexOf(" ", at + 1)) ends.push(at);
  if (words !== "") ends.push(words.length);
  return ends;
}

/**
 * Pieces of `size` words with one space between, as in the published 100-word splits of Wikipedia (DPR, KILT in RAG-R1).
 * The last one may be shorter.
 */
export function splitByWords(text: string, { size, overlap }: PieceSize): string[] {
  const words = singleSpaced(text);
  const ends = wordEnds(words);
  const pieces: string[] = [];
  for (let begin = 0; begin < ends.length; begin += size - overlap) {
    const start = begin === 0 ? 0 : (ends[begin - 1] ?? 0) + 1;
    pieces.push(words.slice(start, ends[begin + size - 1]));
    if (begin + size >= ends.length) break;
  }
  return pieces;
}

/** The sentences of a text; an empty line is none. */
function placedSentences(text: string): Placed[] {
  const all = Array.from(sentences.segment(text), ({ segment, index }) => ({ text: segment, start: index }));
  return all.filter((sentence) => sentence.text.trim() !== "");
}

/** Pieces of `size` whole sentences by the rules of Unicode; what stands between them is kept. */
export function splitBySentences(text: string, { size, overlap }: PieceSize): string[] {
  const options = { chunkSize: size, chunkOverlap: overlap, splitter: placedSentences };
  return trimmed(
    splitter()
      .split(text, options)
      .map((chunk) => chunk.text),
  );
}

/**
 * Pieces of at most `size` words that end where a paragraph ends wherever possible: a paragraph that is too long is cut
 * between sentences, a sentence that is too long between words.
 */
export function splitByParagraphs(text: string, { size, overlap }: PieceSize): string[] {
  const paragraphs = text.match(paragraphPattern) ?? [];
  const parts = paragraphs.flatMap((paragraph) =>
    countWords(paragraph) <= size ? [paragraph] : wholeSentences(paragraph, size),
  );
  return trimmed(packed(parts, { size, overlap }).map((chunk) => chunk.text.join("")));
}

/** A paragraph in parts of at most `size` words that add up to it. */
function wholeSentences(paragraph: string, size: number): string[] {
  const parts = Array.from(sentences.segment(paragraph), ({ segment }) => segment);
  const starts = packed(parts, { size, overlap: 0 }).map((chunk) => chunk.start);
  return starts.map((start, i) => paragraph.slice(i === 0 ? 0 : start, starts[i + 1]));
}

function packed(parts: string[], { size, overlap }: PieceSize) {
  const options = { chunkSize: size, chunkOverlap: overlap, splitter: placedWords } as const;
  return splitter().split(parts, { ...options, chunkStrategy: "paragraph" });
}

function trimmed(pieces: readonly string[]): string[] {
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
}
