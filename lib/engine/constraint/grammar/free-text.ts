/** Free text up to the first of some marks. */
import { anyBytes, byteRange, choice, type Expression, nothing, type Rule, sequence } from "./expression.ts";

/** A text that ends free text, and what follows it. */
export interface Mark {
  readonly text: string;
  readonly rest: Expression;
}

/** Where free text stands: it has read the beginnings of marks, the longest of which says all. */
interface Place {
  readonly read: string;
  readonly rule: Rule;
}

/**
 * Free text, its first mark, and what follows.
 *
 * @param marks - none of them empty
 * @param mayEnd - whether the text may end before a mark
 */
export function freeText(marks: readonly Mark[], mayEnd: boolean): Expression {
  if (marks.length === 0) return anyBytes;
  // In bytes, one character each.
  const written = marks.map(({ text, rest }) => ({ text: Buffer.from(text).toString("latin1"), rest }));
  const beginnings = new Set([
    "",
    ...written.flatMap(({ text }) => [...text].map((_, i) => text.slice(0, i))),
  ]);
  const places = new Map(
    [...beginnings].map((read) => [read, { read, rule: { kind: "rule", body: nothing } } as Place]),
  );
  for (const place of places.values()) place.rule.body = choice(waysFrom(place, { written, places, mayEnd }));
  return (places.get("") as Place).rule;
}

interface FreeText {
  readonly written: readonly Mark[];
  readonly places: ReadonlyMap<string, Place>;
  readonly mayEnd: boolean;
}

function waysFrom({ read }: Place, { written, places, mayEnd }: FreeText): Expression[] {
  const ways: Expression[] = mayEnd ? [nothing] : [];
  const start = (places.get("") as Place).rule;
  const first = (byte: number): Expression => {
    const text = read + String.fromCharCode(byte);
    const ended = written.filter((mark) => text.endsWith(mark.text));
    if (ended.length > 0) return choice(ended.map(({ rest }) => rest));
    for (let from = 0; from < text.length; from++) {
      const place = places.get(text.slice(from));
      if (place !== undefined) return place.rule;
    }
    return start;
  };
  // Bytes that no mark has lead to the start, many at a time.
  const known = new Set(written.flatMap(({ text }) => [...text].map((char) => char.charCodeAt(0))));
  let from = 0;
  for (const byte of [...known].sort((a, b) => a - b)) {
    if (byte > from) ways.push(sequence([byteRange(from, byte - 1), start]));
    ways.push(sequence([byteRange(byte, byte), first(byte)]));
    from = byte + 1;
  }
  if (from < 256) ways.push(sequence([byteRange(from, 255), start]));
  return ways;
}
