/** Strings of JSON: free ones, and those of a length or an expression. */
import { patternOf } from "./formats.ts";
import { Pattern, type Piece } from "./pattern.ts";
import { type Characters, charactersOf, shared, without } from "../grammar/characters.ts";
import { characterClass, literal, type Rules, refuse, type Schema } from "./rules.ts";

const mostLength = 100_000;

const plain = String.raw`[^"\\\u0000-\u001f]`;
const hex = "[0-9a-fA-F]";
const shortEscape = String.raw`["\\/bfnrt]`;
const unpaired = `[0-9a-ce-fA-CE-F] ${hex}{3}`;
const lower = `[0-7] ${hex}{2}`;
const paired = `[89abAB] ${hex}{2} "\\\\u" [dD] [c-fC-F] ${hex}{2}`;

/** Any string. */
export function anyString(rules: Rules): string {
  const escaped = rules.add("escape", `${shortEscape} | "u" (${unpaired} | [dD] (${lower} | ${paired}))`);
  const rest = rules.once("string-rest", (name) => `"\\"" | ${plain} ${name} | "\\\\" ${escaped} ${name}`);
  return rules.add("string", `"\\"" ${rest}`);
}

/** A character, in each way of writing one but as two escapes. */
function character(rules: Rules): string {
  return rules.add("character", `${plain} | "\\\\" (${shortEscape} | "u" (${unpaired} | [dD] ${lower}))`);
}

/** The strings of a schema. @throws ERR_ARGUMENT for an expression or a length that cannot be held to */
export function stringGrammar(schema: Schema, rules: Rules, path: string): string {
  const least = countOf(schema, "minLength", 0, path);
  const most = countOf(schema, "maxLength", Number.POSITIVE_INFINITY, path);
  if (least > most) refuse(path, '"minLength" is more than "maxLength"');
  if (schema.pattern !== undefined) return matching(schema, rules, path, [least, most]);
  const isAny = least === 0 && most === Number.POSITIVE_INFINITY;
  // A format is an annotation to the specification, a length is not: where both stand, the length is held to.
  const pattern = formatOf(schema, path);
  if (isAny && pattern !== undefined) return matching({ pattern }, rules, path, [least, most]);
  if (isAny) return anyString(rules);
  return rules.add("string", `"\\"" ${rules.repeat(character(rules), least, most)} "\\""`);
}

function formatOf({ format }: Schema, path: string): string | undefined {
  if (format === undefined) return undefined;
  return typeof format === "string" ? patternOf(format) : refuse(path, '"format" has to be a string');
}

function matching(
  { pattern }: Schema,
  rules: Rules,
  path: string,
  [least, most]: readonly [number, number],
): string {
  if (typeof pattern !== "string") return refuse(path, '"pattern" has to be a string');
  const refused = (what: string): never =>
    refuse(path, `"pattern" ${JSON.stringify(pattern)}: ${what} is not held to by the grammar`);
  try {
    new RegExp(pattern);
  } catch {
    refused("what is no regular expression");
  }
  const any = rules.repeat(character(rules), 0, Number.POSITIVE_INFINITY);
  const strings: Piece = new Pattern(pattern, { rules, write: asJson, refuse: refused }).strings(any);
  if (strings.least < least || strings.most > most)
    refuse(path, '"minLength" and "maxLength" are not held to beside this "pattern": say them in it');
  return rules.add("string", `"\\"" ${strings.text} "\\""`);
}

/** Those that stand as they are in a string of JSON, and those of which it has a short escape. */
const plainCharacters = without(
  charactersOf([
    [0, 31],
    [34, 34],
    [92, 92],
  ]),
);
const shortEscapes = new Map(Object.entries({ b: 8, t: 9, n: 10, f: 12, r: 13, '"': 34, "\\": 92 }));

/** Characters as JSON writes them; control characters only where it has a short escape. */
function asJson(characters: Characters): string | undefined {
  const raw = shared(characters, plainCharacters);
  const short = [...shortEscapes].filter(([, code]) => shared(characters, [[code, code]]).length > 0);
  const escapes = charactersOf(
    short.map(([letter]) => [letter.charCodeAt(0), letter.charCodeAt(0)] as const),
  );
  const ways = [
    ...(raw.length === 0 ? [] : [characterClass(raw)]),
    ...(escapes.length === 0 ? [] : [`"\\\\" ${characterClass(escapes)}`]),
  ];
  return ways.length < 2 ? ways[0] : `(${ways.join(" | ")})`;
}

/** A count among the keywords of a schema. @throws ERR_ARGUMENT for what is none */
export function countOf(schema: Schema, key: string, absent: number, path: string): number {
  const count = schema[key] === undefined ? absent : schema[key];
  if (
    count === absent ||
    (Number.isInteger(count) && (count as number) >= 0 && (count as number) <= mostLength)
  )
    return count as number;
  return refuse(path, `"${key}" has to be a whole number from 0 to ${mostLength}`);
}

/** Longest name that others are told from, characters: each is a group within the one before it. */
const longestName = 100;

/** Keys, written without escapes, that are none of those named. @throws ERR_ARGUMENT for a name that is too long */
export function otherKeys(names: readonly string[], rules: Rules, path: string): string {
  const long = names.find((name) => name.length > longestName);
  if (long !== undefined)
    refuse(path, `"additionalProperties" beside a name of over ${longestName} characters is not held to`);
  const rest = rules.add("key-rest", `${plain}* "\\""`);
  const after = (length: number, longer: readonly string[]): string => {
    const next = new Map<string, string[]>();
    for (const name of longer.filter((each) => each.length > length)) {
      const char = String.fromCodePoint(name.codePointAt(length) as number);
      const same = next.get(char) ?? [];
      same.push(name);
      next.set(char, same);
    }
    const taken = [...next.keys()].map((char) => char.codePointAt(0) as number);
    const others = shared(plainCharacters, without(charactersOf(taken.map((code) => [code, code] as const))));
    const ways = [`${characterClass(others)} ${rest}`];
    if (longer.every((name) => name.length > length)) ways.push('"\\""');
    for (const [char, same] of next)
      if (!/["\\\p{Cc}]/u.test(char)) ways.push(`${literal(char)} ${after(length + char.length, same)}`);
    return `(${ways.join(" | ")})`;
  };
  return rules.add("other-key", `"\\"" ${after(0, names)}`);
}
