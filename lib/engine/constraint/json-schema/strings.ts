/** Strings of JSON: free ones, and those of a length or an expression. */
import { Pattern, type Piece } from "./pattern.ts";
import { characterClass, literal, type Rules, refuse, type Schema } from "./rules.ts";

const mostLength = 1_000_000;

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

/** One character of a string, of one UTF-16 unit where it is escaped. */
function character(rules: Rules): string {
  return rules.add("character", `${plain} | "\\\\" (${shortEscape} | "u" (${unpaired} | [dD] ${lower}))`);
}

/** The strings of a schema. @throws ERR_ARGUMENT for an expression or a length that cannot be held to */
export function stringGrammar(schema: Schema, rules: Rules, path: string): string {
  const least = countOf(schema, "minLength", 0, path);
  const most = countOf(schema, "maxLength", Number.POSITIVE_INFINITY, path);
  if (least > most) refuse(path, '"minLength" is more than "maxLength"');
  if (schema.pattern !== undefined) return matching(schema, rules, path, [least, most]);
  if (schema.format !== undefined) refuse(path, '"format" is held to by a "pattern" only: add one');
  if (least === 0 && most === Number.POSITIVE_INFINITY) return anyString(rules);
  return rules.add("string", `"\\"" ${rules.repeat(character(rules), least, most)} "\\""`);
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
  const strings: Piece = new Pattern(pattern, rules, refused).strings(character(rules));
  if (strings.least < least || strings.most > most)
    refuse(path, '"minLength" and "maxLength" are not held to beside this "pattern": say them in it');
  return rules.add("string", `"\\"" ${strings.text} "\\""`);
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

/** Keys, written without escapes, that are none of those named. */
export function otherKeys(names: readonly string[], rules: Rules): string {
  const rest = rules.add("key-rest", `${plain}* "\\""`);
  const after = (prefix: string): string => {
    const longer = names.filter((name) => name.startsWith(prefix) && name !== prefix);
    const next = new Set(
      longer.map((name) => String.fromCodePoint(name.codePointAt(prefix.length) as number)),
    );
    const taken = new Set(['"', "\\", ...next]);
    const others = Array.from({ length: 95 }, (_, i) => 32 + i).filter(
      (code) => !taken.has(String.fromCharCode(code)),
    );
    const ways = [`${characterClass(others)} ${rest}`];
    if (!names.includes(prefix)) ways.push('"\\""');
    for (const char of next)
      if (!/["\\\p{Cc}]/u.test(char)) ways.push(`${literal(char)} ${after(prefix + char)}`);
    return `(${ways.join(" | ")})`;
  };
  return rules.add("other-key", `"\\"" ${after("")}`);
}
