/** Strings of JSON: free ones, and those of a length or an expression. */
import { Pattern, type Piece } from "./pattern.ts";
import { characterClass, literal, type Rules, refuse, type Schema } from "./rules.ts";

const mostLength = 100_000;

/** Characters that are counted together, and those that the end of a long string counts one by one, at least. */
const blockLength = 32;
const tailLength = 48;

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

/** What stands behind the backslash of a character of one UTF-16 unit. */
function shortEscapes(rules: Rules): string {
  return rules.add("short", `${shortEscape} | "u" (${unpaired} | [dD] ${lower})`);
}

/** Any number of characters; a rule that ends in itself, which xgrammar makes a mask of in advance. */
function characters(rules: Rules): string {
  return rules.once("characters", (name) => `"" | ${goOn(rules, name)}`);
}

/** What follows a character, in each way of writing one. */
function goOn(rules: Rules, rest: string): string {
  return `${plain} ${rest} | "\\\\" ${shortEscapes(rules)} ${rest}`;
}

/** So many characters, and then the rest. */
function counted(rules: Rules, count: number, rest: string): string {
  let last = rest;
  for (let i = 0; i < count; i++) last = rules.add("counted", goOn(rules, last));
  return last;
}

/**
 * Up to so many characters and the end of the string. A rule for each count costs 50 ms to compile for 150,000 tokens; so long
 * strings begin with blocks. The tail may begin at each, and is longer than a block by more than most tokens, as
 * xgrammar tries a token that goes on behind the end of a rule at each draw.
 */
function upTo(rules: Rules, most: number): string {
  const numBlocks = most < blockLength + tailLength ? 0 : Math.floor((most - tailLength) / blockLength);
  const end = '"\\""';
  let tail = rules.add("counted", end);
  for (let i = numBlocks * blockLength; i < most; i++)
    tail = rules.add("counted", `${end} | ${goOn(rules, tail)}`);
  if (numBlocks === 0) return tail;
  const block = counted(rules, blockLength, rules.add("nothing", '""'));
  let rest = tail;
  for (let i = 0; i < numBlocks; i++) rest = rules.either([tail, `${block} ${rest}`]);
  return rest;
}

/** From `least` to `most` characters and the end of the string. */
function ofLength(rules: Rules, least: number, most: number): string {
  const isOpen = most === Number.POSITIVE_INFINITY;
  const end = isOpen
    ? rules.once("open", (name) => `"\\"" | ${goOn(rules, name)}`)
    : upTo(rules, most - least);
  return atLeast(rules, least, end);
}

/** So many characters in blocks, and the last of them one by one, for the reasons of {@link upTo}. */
function atLeast(rules: Rules, least: number, end: string): string {
  const numBlocks = least < blockLength + tailLength ? 0 : Math.floor((least - tailLength) / blockLength);
  let rest = counted(rules, least - numBlocks * blockLength, end);
  if (numBlocks === 0) return rest;
  const block = counted(rules, blockLength, rules.add("nothing", '""'));
  for (let i = 0; i < numBlocks; i++) rest = rules.add("counted", `${block} ${rest}`);
  return rest;
}

/** The strings of a schema. @throws ERR_ARGUMENT for an expression or a length that cannot be held to */
export function stringGrammar(schema: Schema, rules: Rules, path: string): string {
  const least = countOf(schema, "minLength", 0, path);
  const most = countOf(schema, "maxLength", Number.POSITIVE_INFINITY, path);
  if (least > most) refuse(path, '"minLength" is more than "maxLength"');
  if (schema.pattern !== undefined) return matching(schema, rules, path, [least, most]);
  if (schema.format !== undefined) refuse(path, '"format" is held to by a "pattern" only: add one');
  if (least === 0 && most === Number.POSITIVE_INFINITY) return anyString(rules);
  return rules.add("string", `"\\"" ${ofLength(rules, least, most)}`);
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
  const strings: Piece = new Pattern(pattern, rules, refused).strings(characters(rules));
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
