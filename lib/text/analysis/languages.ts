/** Which languages there are: the scripts that they are written in, their stemmers, and the words that search leaves out. */
import { lazyPackage, onFirstUse } from "../../base/on-first-use.ts";
import { foldAccents, foldForms } from "./fold.ts";

const scripts = [
  "Latin",
  "Greek",
  "Cyrillic",
  "Armenian",
  "Hebrew",
  "Arabic",
  "Devanagari",
  "Tamil",
] as const;
type Script = (typeof scripts)[number];

/** A language's rules. */
interface LanguageRow {
  readonly scripts: readonly Script[];
  /** A stemmer of `@orama/stemmers`, which are Snowball's, and a list of `@orama/stopwords`. */
  readonly snowball?: string;
  /** A list of `stopword`, in the place of the other. */
  readonly stops?: string;
  /** What is taken off a word's front, before a stemmer sees it. */
  readonly article?: RegExp;
}

const Latin = ["Latin"] as const;
const Cyrillic = ["Cyrillic"] as const;
/** Cut into letters and pairs, without stop words. */
const unspaced: LanguageRow = { scripts: [] };

const table = {
  // Snowball's keeps the article of words that seem to end in a dual or plural, but not always.
  ar: { scripts: ["Arabic"], snowball: "arabic", article: /^[وفبك]?ال(?=\p{L}{3})|^لل(?=\p{L}{3})/u },
  bg: { scripts: Cyrillic, stops: "bul" },
  cs: { scripts: Latin, stops: "ces" },
  da: { scripts: Latin, snowball: "danish" },
  de: { scripts: Latin, snowball: "german" },
  el: { scripts: ["Greek"], snowball: "greek" },
  en: { scripts: Latin, stops: "eng" },
  es: { scripts: Latin, snowball: "spanish", stops: "spa" },
  fa: { scripts: ["Arabic"], stops: "fas" },
  fi: { scripts: Latin, snowball: "finnish" },
  fr: { scripts: Latin, snowball: "french" },
  ga: { scripts: Latin, snowball: "irish" },
  // Conjunction, article and prepositions are letters that begin many words too, so of every word all of them go.
  he: { scripts: ["Hebrew"], stops: "heb", article: /^[והבלמשכ]+(?=\p{L}{3})/u },
  hi: { scripts: ["Devanagari"], snowball: "indian", stops: "hin" },
  hu: { scripts: Latin, snowball: "hungarian" },
  hy: { scripts: ["Armenian"], snowball: "armenian" },
  id: { scripts: Latin, snowball: "indonesian" },
  it: { scripts: Latin, snowball: "italian" },
  ja: unspaced,
  km: unspaced,
  ko: unspaced,
  lo: unspaced,
  lt: { scripts: Latin, snowball: "lithuanian" },
  my: unspaced,
  ne: { scripts: ["Devanagari"], snowball: "nepali" },
  nl: { scripts: Latin, snowball: "dutch" },
  no: { scripts: Latin, snowball: "norwegian" },
  pl: { scripts: Latin, stops: "pol" },
  pt: { scripts: Latin, snowball: "portuguese" },
  ro: { scripts: Latin, snowball: "romanian" },
  ru: { scripts: Cyrillic, snowball: "russian" },
  sr: { scripts: ["Latin", "Cyrillic"], snowball: "serbian" },
  sv: { scripts: Latin, snowball: "swedish" },
  ta: { scripts: ["Tamil"], snowball: "tamil" },
  th: unspaced,
  tr: { scripts: Latin, snowball: "turkish" },
  uk: { scripts: Cyrillic, stops: "ukr" },
  vi: { scripts: Latin, stops: "vie" },
  zh: unspaced,
} as const satisfies Readonly<Record<string, LanguageRow>>;

type LanguageCode = keyof typeof table;

/** The language of words of each script, unless they are known to be of another one. */
const usual: Readonly<Record<Script, LanguageCode>> = {
  ...{ Latin: "en", Greek: "el", Cyrillic: "ru", Armenian: "hy" },
  ...{ Hebrew: "he", Arabic: "ar", Devanagari: "hi", Tamil: "ta" },
};

/** ISO 639-1; `auto` takes the script's usual language for each word, which for Latin letters is English. */
export type Language = "auto" | keyof typeof table;
/** All of them. */
export const languages = ["auto", ...Object.keys(table)] as unknown as readonly [Language, ...Language[]];

/** What becomes of a word whose forms are folded. */
interface WordRules {
  /** Whether it is left out of texts. */
  isStop(word: string): boolean;
  /** Whether a query of such words alone asks for a title; stop words are among them. */
  isSmall(word: string): boolean;
  /** The word that stands for it and its inflections, without accents. */
  stem(word: string): string;
}

/** Porter's stemmer of English. */
export const porter = lazyPackage<typeof import("stemmer")>("stemmer");

const lists = lazyPackage<Readonly<Record<string, readonly string[]>>>("stopword");
const sets = new Map<string, ReadonlySet<string>>();

function wordSet(name: string, wordsOf: () => readonly string[]): ReadonlySet<string> {
  const known = sets.get(name);
  if (known) return known;
  const made = new Set(wordsOf().map((word) => foldForms(word).replace(/['\u2019]/g, "")));
  sets.set(name, made);
  return made;
}

/** A list of the stopword package, without apostrophes. */
export function stopWords(name: string): ReadonlySet<string> {
  return wordSet(name, () => lists()[name] ?? []);
}

/** A list of `@orama/stopwords`, which are Snowball's for most languages. */
function snowballStops(name: string): ReadonlySet<string> {
  const load = lazyPackage<{ readonly stopwords: readonly string[] }>(`@orama/stopwords/${name}`);
  return wordSet(`snowball ${name}`, () => load().stopwords);
}

const snowballStemmer = (name: string): ((word: string) => string) =>
  lazyPackage<{ stemmer(word: string): string }>(`@orama/stemmers/${name}`)().stemmer;

const englishStops = onFirstUse(() => stopWords("eng"));
const englishSmall = onFirstUse(() => new Set([...englishStops(), ...snowballStops("english")]));

/** Those of English are compared without accents, as in the first rules. */
const english: WordRules = {
  isStop: (word) => englishStops().has(foldAccents(word)),
  isSmall: (word) => englishSmall().has(foldAccents(word)),
  stem: (word) => porter().stemmer(foldAccents(word)),
};

const unknown: WordRules = { isStop: () => false, isSmall: () => false, stem: foldAccents };

function rulesIn(code: LanguageCode): WordRules {
  if (code === "en") return english;
  const { snowball, stops, article = /^$/ }: LanguageRow = table[code];
  const list = stops === undefined ? snowballStops(snowball ?? "") : stopWords(stops);
  const isStop = (word: string): boolean => list.has(word);
  const stemmer = snowball === undefined ? undefined : snowballStemmer(snowball);
  const stem = (word: string): string => {
    const bare = word.replace(article, "");
    return foldAccents(stemmer?.(bare) || bare);
  };
  return { isStop, isSmall: isStop, stem };
}

const known = new Map<LanguageCode, () => WordRules>(
  (Object.keys(table) as LanguageCode[]).map((code) => [code, onFirstUse(() => rulesIn(code))]),
);

const scriptPatterns = scripts.map((script) => [script, new RegExp(`\\p{Script=${script}}`, "u")] as const);

/** The rules for a word of a text in `language`. */
export function rulesFor(word: string, language: Language): WordRules {
  const script = scriptPatterns.find(([, pattern]) => pattern.test(word))?.[0];
  if (script === undefined) return unknown;
  const own: readonly Script[] = language === "auto" ? [] : table[language].scripts;
  const code = language !== "auto" && own.includes(script) ? language : usual[script];
  return known.get(code)?.() ?? unknown;
}

const elisions: Readonly<Partial<Record<Language, RegExp>>> = {
  fr: /(?<![\p{L}\p{N}])(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['\u2019]/gu,
  it: /(?<![\p{L}\p{N}])(?:[cdlmstv]|un|gl|(?:a|da|de|ne|su)(?:ll|gl)|co(?:ll|gl))['\u2019]/gu,
};

/** Takes off what French and Italian join to the next word by an apostrophe: articles and pronouns that lost their vowel. */
export function withoutElisions(text: string, language: Language): string {
  const pattern = elisions[language];
  return pattern === undefined ? text : text.replace(pattern, "");
}
