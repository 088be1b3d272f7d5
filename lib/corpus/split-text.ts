/** Cuts one text into pieces by words, sentences or paragraphs. */
import { split } from "llm-splitter";

/** How long a piece is and how much of it the next one repeats, in the same unit. */
export interface PieceSize {
  readonly size: number;
  readonly overlap: number;
}

/** What Python's `str.split` parts words at, which made the published splits; it differs from `\s` in a few marks. */
const blanks = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const blankRun = new RegExp(`[${blanks}]+`);
const wordPattern = new RegExp(`[^${blanks}]+`, "g");
const paragraphPattern = /[^\n]*\n+|[^\n]+/g;
const sentences = new Intl.Segmenter("en", { granularity: "sentence" });

/** A word or sentence and where it stands. */
export interface Placed {
  readonly text: string;
  readonly start: number;
}

/** The words of a text: whatever stands between blanks. */
export function placedWords(text: string): Placed[] {
  return Array.from(text.matchAll(wordPattern), (match) => ({ text: match[0], start: match.index }));
}

/** How many words a text has. */
export function countWords(text: string): number {
  return text.match(wordPattern)?.length ?? 0;
}

/**
 * Pieces of `size` words with one space between, as in the published 100-word splits of Wikipedia (DPR, KILT in RAG-R1).
 * The last one may be shorter.
 */
export function splitByWords(text: string, { size, overlap }: PieceSize): string[] {
  const words = text.split(blankRun);
  if (words[0] === "") words.shift();
  if (words.at(-1) === "") words.pop();
  const pieces: string[] = [];
  for (let begin = 0; begin < words.length; begin += size - overlap) {
    pieces.push(words.slice(begin, begin + size).join(" "));
    if (begin + size >= words.length) break;
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
  return trimmed(split(text, options).map((chunk) => chunk.text));
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
  return split(parts, { ...options, chunkStrategy: "paragraph" });
}

function trimmed(pieces: readonly string[]): string[] {
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
}
