/** Which passages an agent's answer stands in, word for word. */
import { meaningOf, termsOf, wordsOf } from "../../../lib/text/analysis/words.ts";
import type { FoundPassage } from "../reply/reply.ts";

/** A part of an answer that stands in a passage. */
export interface Citation {
  readonly passage: FoundPassage;
  /** The sentence of the passage. */
  readonly quote: string;
  /** The part, in UTF-16 units of the answer. */
  readonly start: number;
  readonly end: number;
}

/** A stretch of a text. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Passages that are cited for one part of an answer. */
const maxPassages = 2;

/** Answers that stand in any text and are supported by none. */
const judgements: ReadonlySet<string> = new Set(["yes", "no", "true", "false", "none", "unknown"]);

const wordPattern = /[\p{L}\p{N}\p{M}'\u2019]+/gu;
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const clauseEnd = /[.;,:!?\n()"\u3001\u3002\uff0c]+|\s(?:and|or)\s/gu;
/** Names and numbers: capitalised words in a row, with the small words of names between them. */
const namePattern =
  /\p{Lu}[\p{L}\p{M}\p{N}'\u2019.-]*(?:\s+(?:(?:of|the|de|la|von|van|der|and)\s+)?\p{Lu}[\p{L}\p{M}\p{N}'\u2019-]*)*|\p{N}{2,}/gu;

/**
 * Finds the passages that an answer stands in: the whole of it, or else its clauses, or else the names and numbers in them.
 * A sentence counts when it holds the words in a row and, with its title, a word more that was asked for. What stands in
 * no passage is not cited, and neither are judgements such as "yes".
 *
 * @param answer - as it was told
 * @param passages - in the order in which they were found
 * @param asked - the question and the queries
 * @returns in the order of the answer
 */
export function citationsOf(
  answer: string,
  passages: readonly FoundPassage[],
  asked: readonly string[],
): Citation[] {
  const wanted = new Set(termsOf(asked.join(" ")));
  const cite = (stretch: Stretch): Citation[] => citationsFor(answer, stretch, { passages, wanted });
  const whole = cite({ start: 0, end: answer.length });
  if (whole.length > 0) return whole;
  return clausesOf(answer).flatMap((clause) => {
    const found = cite(clause);
    return found.length > 0 ? found : namesIn(answer, clause).flatMap(cite);
  });
}

interface Sources {
  readonly passages: readonly FoundPassage[];
  /** Terms of what was asked. */
  readonly wanted: ReadonlySet<string>;
}

function citationsFor(answer: string, around: Stretch, { passages, wanted }: Sources): Citation[] {
  const { start, end } = trimmed(answer, around);
  const text = answer.slice(start, end);
  const words = wordsIn(text);
  const own = new Set(meaningOf(text).terms);
  if (own.size === 0 || words.every((word) => judgements.has(word))) return [];
  const quotes = distinct(passages).flatMap((passage) => {
    const sentences = sentencesOf(passage.text).filter((sentence) => holds(sentence, { words, text }));
    const ranked = sentences.map((quote) => ({
      passage,
      quote,
      shared: numShared(passage, quote, wanted, own),
    }));
    return ranked.sort((a, b) => b.shared - a.shared).slice(0, 1);
  });
  return quotes
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared)
    .slice(0, maxPassages)
    .map(({ passage, quote }) => ({ passage, quote, start, end }));
}

/** Terms of what was asked in a sentence or its title, those of the answer aside. */
function numShared(
  { title }: FoundPassage,
  sentence: string,
  wanted: ReadonlySet<string>,
  own: ReadonlySet<string>,
): number {
  const terms = new Set(meaningOf(`${title} ${sentence}`).terms);
  return [...terms].filter((term) => wanted.has(term) && !own.has(term)).length;
}

function distinct(passages: readonly FoundPassage[]): FoundPassage[] {
  return [
    ...new Map(passages.map((passage) => [JSON.stringify([passage.id, passage.text]), passage])).values(),
  ];
}

/** Words as they are compared: folded, one for each of the text. */
function wordsIn(text: string): string[] {
  return (text.match(wordPattern) ?? []).map((word) => wordsOf(word).join("")).filter((word) => word !== "");
}

function holds(
  sentence: string,
  { words, text }: { readonly words: readonly string[]; readonly text: string },
) {
  if (unspaced.test(text)) return sentence.includes(text);
  const all = wordsIn(sentence);
  return all.some((_, at) => words.every((word, i) => all[at + i] === word));
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });

function sentencesOf(text: string): string[] {
  return [...segmenter.segment(text)].map(({ segment }) => segment.trim()).filter((each) => each !== "");
}

function clausesOf(answer: string): Stretch[] {
  const clauses: Stretch[] = [];
  let start = 0;
  for (const { 0: mark, index } of answer.matchAll(clauseEnd)) {
    clauses.push({ start, end: index });
    start = index + mark.length;
  }
  return [...clauses, { start, end: answer.length }];
}

function namesIn(answer: string, { start, end }: Stretch): Stretch[] {
  const names = [...answer.slice(start, end).matchAll(namePattern)];
  return names.map(({ 0: name, index }) => ({ start: start + index, end: start + index + name.length }));
}

/** Without blanks and full stops at the ends. */
function trimmed(text: string, { start, end }: Stretch): Stretch {
  const part = text.slice(start, end);
  const lead = part.length - part.trimStart().length;
  const kept = part.trim().replace(/[.!?]+$/, "");
  return { start: start + lead, end: start + lead + kept.length };
}
