/** How text becomes words for the embedder and terms for BM25: the same for passages and queries. */
import { firstMeaning } from "./first-rules.ts";
import { foldAccents, foldForms, onlyAscii } from "./fold.ts";
import { type Language, rulesFor, withoutElisions } from "./languages.ts";

/** How texts of an index are cut, as its folder records it. */
export interface Analyser {
  /** 1 for folders that do not say it. */
  readonly rules: 1 | 2;
  readonly language: Language;
  /** Whether stop words may count at all. @default true */
  readonly stops?: boolean;
}

/** The rules of folders that are written now. */
export const usualAnalyser: Analyser = { rules: 2, language: "auto" };

/** What a text is cut into. */
export interface Meaning {
  /** Runs of letters and digits, folded. */
  readonly words: readonly string[];
  /** What BM25 counts: stems, and of scripts without spaces every two neighbouring letters. */
  readonly terms: readonly string[];
  /** The letters that stand in those pairs: terms that make no passage longer. */
  readonly letters: readonly string[];
  /** Terms of its stop words, which count in titles and in queries that have no other words; no other term is like them. */
  readonly stops: readonly string[];
}

const wordPattern = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** Words in the form that stemmers know: case and other forms of letters folded, accents of Latin letters not. */
function formsOf(text: string, language: Language): readonly string[] {
  return (
    withoutElisions(foldForms(text), language)
      .replace(/['\u2019\u02bc]/g, "")
      .match(wordPattern) ?? []
  );
}

// These put no spaces between words, or, in Hangul, join particles to them.
const unspacedRun =
  /(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]\p{M}*)+/gu;

type Terms = Record<"terms" | "letters" | "stops", string[]>;

/** Each letter, with the marks at it, and every two neighbours. */
function addRun(run: string, { terms, letters }: Terms): void {
  const own = run.match(/\P{M}\p{M}*/gu) ?? [];
  for (let i = 1; i < own.length; i += 1) terms.push(`${own[i - 1]}${own[i]}`);
  const into = own.length === 1 ? terms : letters;
  for (const letter of own) into.push(letter);
}

function addWord(form: string, language: Language, { terms, stops }: Terms): void {
  const rules = rulesFor(form, language);
  if (!rules.isStop(form)) terms.push(rules.stem(form));
  if (rules.isSmall(form)) stops.push(`=${foldAccents(form)}`);
}

/** Before, between and behind the words of a title of stop words, which is one token; a code point that is no character. */
const joint = "\ufdd0";
const titleToken = /^\ufdd0(?:[^\ufdd0]+\ufdd0){2,}$/;
const wordsOfTitle = (token: string): string[] => token.slice(1, -1).split(joint);

/** Cuts a text. */
export function meaningOf(
  text: string,
  { rules, language, stops = true }: Analyser = usualAnalyser,
): Meaning {
  if (rules === 1) return firstMeaning(text);
  // As native/search/words/bm25_builder.cpp has it of a whole title.
  if (titleToken.test(text))
    return { words: [], terms: [], letters: [`=${wordsOfTitle(text).join("=")}`], stops: [] };
  const forms = formsOf(text, language);
  const found: Terms = { terms: [], letters: [], stops: [] };
  for (const form of forms) {
    let end = 0;
    for (const { 0: run, index } of onlyAscii.test(form) ? [] : form.matchAll(unspacedRun)) {
      if (index > end) addWord(form.slice(end, index), language, found);
      addRun(run, found);
      end = index + run.length;
    }
    if (end < form.length) addWord(form.slice(end), language, found);
  }
  return { words: forms.map(foldAccents), ...found, ...(stops ? {} : { stops: [] }) };
}

/**
 * The words of a text: runs of letters and digits, folded. `cutTexts` gives the same for many texts.
 *
 * @param text anything
 * @returns its words in order
 * @example
 * assert.deepEqual(wordsOf("L'Été, 2nd"), ["lete", "2nd"]);
 */
export function wordsOf(text: string, analyser: Analyser = usualAnalyser): readonly string[] {
  return meaningOf(text, analyser).words;
}

/**
 * The terms of a query: stop words of each word's language are dropped unless it has no other words, the rest reduced to
 * stems; of scripts without spaces every letter and every two neighbours.
 *
 * @param text anything
 * @returns the terms, single letters behind the others, stop words last
 * @example
 * assert.deepEqual(termsOf("the presidencies"), ["presid"]);
 * assert.deepEqual(termsOf("首都"), ["首都", "首", "都"]);
 */
export function termsOf(text: string, analyser: Analyser = usualAnalyser): readonly string[] {
  const { words, terms, letters, stops } = meaningOf(text, analyser);
  return [...terms, ...letters, ...(stops.length >= words.length ? stops : [])];
}

/** Of titles that are found by name; one of two words has a run of two. */
const maxTitleWords = 6;
/** Characters of a query that is looked at for titles: one as long as a passage does not ask for a name. */
const maxNaming = 1000;

/** All parts of a run that may be a title, each as one token. */
function titlesOf(run: readonly string[]): string[] {
  return run.flatMap((_, first) => {
    const longest = Math.min(maxTitleWords, run.length - first);
    const sizes = Array.from({ length: Math.max(0, longest - 1) }, (_, i) => i + 2);
    return sizes.map((size) => ["", ...run.slice(first, first + size), ""].join(joint));
  });
}

/** Every run of a query's stop words that may be the whole title of a passage: "the who" in "songs of the Who". */
function titlesIn(query: string, { rules, language, stops = true }: Analyser): string[] {
  if (rules === 1 || !stops || query.length > maxNaming) return [];
  const runs: string[][] = [[]];
  for (const form of formsOf(query, language)) {
    if (rulesFor(form, language).isSmall(form)) runs.at(-1)?.push(foldAccents(form));
    else runs.push([]);
  }
  return runs.flatMap(titlesOf);
}

/** A query as an index cuts it: with the titles of stop words that it may name. */
export const queryText = (query: string, analyser: Analyser): string =>
  [query, ...titlesIn(query, analyser)].join(" ");

/** A query's words one by one. */
interface QueryWords {
  /** Those that count, each as often as it stands there. */
  readonly words: readonly string[];
  /** Titles of stop words that it may name, each as one word. */
  readonly titles: readonly string[];
  /** Whether they are stop words, which count for want of others. */
  readonly areStops: boolean;
}

/** The words that a query is searched by. */
export function queryWords(query: string, analyser: Analyser = usualAnalyser): QueryWords {
  const words = analyser.rules === 1 ? firstMeaning(query).words : formsOf(query, analyser.language);
  const { stops } = meaningOf(query, analyser);
  const titles = titlesIn(query, analyser);
  if (stops.length >= words.length) return { words, titles, areStops: true };
  const counting = words.filter((word) => meaningOf(word, analyser).terms.length > 0);
  return { words: counting, titles, areStops: false };
}

/** How such a title is shown. */
export const shownTitle = (title: string): string =>
  titleToken.test(title) ? wordsOfTitle(title).join(" ") : title;
