/** The steps that every form of call is read in: white space, literals, text up to a mark, and JSON. */
import { JsonScanner } from "./json-scanner.ts";
import type { Reading, ReplyText } from "./reply-text.ts";

/** Text whose tokens are of no interest. */
export type Text = ReplyText<unknown>;

const nonSpace = /\S/g;

/** Reads white space. */
export function* space(text: Text): Reading<void> {
  do {
    const found = text.find(nonSpace);
    text.take(found?.index ?? text.rest.length);
    if (found !== undefined) return;
  } while (yield* text.more());
}

/** The next character, which stays where it is; nothing at the end. */
export function* next(text: Text): Reading<string> {
  while (text.rest === "" && (yield* text.more()));
  return text.rest.slice(0, 1);
}

/** Reads this text if it comes next. @returns whether it did */
export function* accept(text: Text, literal: string): Reading<boolean> {
  for (;;) {
    const rest = text.rest.slice(0, literal.length);
    if (rest === literal) {
      text.take(literal.length);
      return true;
    }
    if (!literal.startsWith(rest) || !(yield* text.more())) return false;
  }
}

/** Reads white space and this text, if it comes next. */
export function* acceptWord(text: Text, word: string): Reading<boolean> {
  yield* space(text);
  return word === "" || (yield* accept(text, word));
}

/** Reads the mark that ends a call, if it comes next, or as much of it as there is where the text ends within it. */
export function* closing(text: Text, mark: string): Reading<void> {
  if (!(yield* acceptWord(text, mark)) && mark.startsWith(text.rest)) text.take(text.rest.length);
}

/** Reads the characters of an expression, which matches one. @returns nothing when there are more than the most */
export function* run(text: Text, chars: RegExp, most = 256): Reading<string | undefined> {
  let read = "";
  for (;;) {
    const rest = text.rest.slice(0, most + 1);
    let length = 0;
    while (length < rest.length && chars.test(rest[length] as string)) length += 1;
    read += text.take(length);
    if (read.length > most) return undefined;
    if (length < rest.length || !(yield* text.more())) return read;
  }
}

/**
 * Reads one JSON value.
 *
 * @param onPart - is given each part as it is read
 * @param most - characters
 * @returns whether it was whole, and JSON
 */
export function* json(
  text: Text,
  onPart: (part: string) => void,
  most: number = Number.POSITIVE_INFINITY,
): Reading<boolean> {
  const scanner = new JsonScanner();
  let length = 0;
  for (;;) {
    const part = text.take(scanner.scan(text.rest));
    length += part.length;
    onPart(part);
    if (scanner.state !== "open") return scanner.state === "end" && length <= most;
    if (length > most || !(yield* text.more())) return false;
  }
}

/** Reads one JSON value and gives its text, or nothing. */
export function* jsonText(text: Text, most?: number): Reading<string | undefined> {
  const parts: string[] = [];
  const isWhole = yield* json(text, (part) => parts.push(part), most);
  return isWhole ? parts.join("") : undefined;
}

/** Reads a short JSON string and gives what it says, or nothing. */
export function* jsonString(text: Text): Reading<string | undefined> {
  if ((yield* next(text)) !== '"') return undefined;
  const written = yield* jsonText(text, 1024);
  return written === undefined ? undefined : (JSON.parse(written) as string);
}

const escaped = (literal: string): string => literal.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** The beginnings of a mark, all but the whole, as an expression. */
function beginnings(mark: string): string {
  return [...mark]
    .slice(0, -1)
    .reduceRight((rest, char) => `${escaped(char)}${rest === "" ? "" : `(?:${rest})?`}`, "");
}

/** Finds white space, one of the marks, or at the end of the text what may become one. */
export function markPattern(marks: readonly string[]): RegExp {
  if (marks.length === 0) return /(?!)/g;
  const begun = marks.map(beginnings).filter((each) => each !== "");
  const cut = begun.length === 0 ? "(?!)" : `(?:${begun.join("|")})$`;
  return new RegExp(`(?<space>\\s+)|(?<mark>${marks.map(escaped).join("|")})|(?<cut>${cut})`, "g");
}

/**
 * Releases text as early as possible up to one of the marks. The mark, and white space before it, is held.
 *
 * @param pattern - of {@link markPattern}
 * @returns the mark, or nothing at the end of the text
 */
export function* upTo(
  text: Text,
  pattern: RegExp,
  channel: "reasoning" | "text",
): Reading<string | undefined> {
  for (;;) {
    const found = text.find(pattern);
    if (found === undefined || found.index > 0) {
      const length = text.take(found?.index ?? text.rest.length).length;
      if (length > 0) text.release(channel);
    }
    const { space: blank, mark, cut } = found?.match.groups ?? {};
    text.take((blank ?? mark ?? "").length);
    if (mark !== undefined) return mark;
    if ((blank === undefined || text.rest === "") && !(yield* text.more())) {
      text.take((cut ?? "").length);
      return undefined;
    }
  }
}
