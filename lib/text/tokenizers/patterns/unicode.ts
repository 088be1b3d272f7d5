/** The reference library's sets of code points, as regular expressions that do not depend on the engine's Unicode. */
import { unicodeRuns } from "./unicode-tables.ts";

/** One of the reference's sets: general categories by their short names, and those of single components. */
export type UnicodeSet = keyof typeof unicodeRuns;

const sources = new Map<UnicodeSet, string>();

/** Whether there is a set of this name. */
export function isUnicodeSet(name: string): name is UnicodeSet {
  return Object.hasOwn(unicodeRuns, name);
}

/** What stands inside of a class's brackets, for a regular expression with the flag u. */
export function classOf(name: UnicodeSet): string {
  const known = sources.get(name);
  if (known !== undefined) return known;
  const numbers = unicodeRuns[name].split(" ").map((digits) => Number.parseInt(digits, 36));
  let source = "";
  let end = 0;
  for (let i = 0; i < numbers.length; i += 2) {
    const start = end + (numbers[i] as number);
    end = start + (numbers[i + 1] as number);
    source += `\\u{${start.toString(16)}}`;
    if (end > start + 1) source += `-\\u{${(end - 1).toString(16)}}`;
  }
  sources.set(name, source);
  return source;
}
