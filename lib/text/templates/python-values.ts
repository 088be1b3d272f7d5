/** Python's view of values in a chat template: how they print, compare and strip. Templates are written for Python. */

/** A value of the Jinja runtime; its classes are not exported, so `type` names what `value` holds. */
export interface JinjaValue {
  readonly type: string;
  readonly value: unknown;
}

const space = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

/** Python's `str.strip`, with its set of white space (JavaScript's differs) or the given characters. */
export function strip(
  text: string,
  chars: string | null | undefined,
  side: "both" | "left" | "right",
): string {
  const set = typeof chars === "string" ? chars.replace(/[\\\]^-]/g, "\\$&") : space;
  if (set === "") return text;
  const left = side === "right" ? text : text.replace(new RegExp(`^[${set}]+`, "u"), "");
  if (side === "left") return left;
  let end = left.length;
  const inSet = new RegExp(`[${set}]`);
  while (end > 0 && inSet.test(left[end - 1] as string)) end -= 1;
  return left.slice(0, end);
}

/** Python's `repr` of a string: single quotes unless the text holds some and no double ones. */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t");
  return quote + escaped.replaceAll(quote, `\\${quote}`) + quote;
}

/** No prompt is longer; lists within lists can be written out exponentially long. */
const maxLength = 16_000_000;

function join(parts: readonly string[], separator: string): string {
  const length = parts.reduce((sum, part) => sum + part.length + separator.length, 0);
  if (length > maxLength)
    throw new RangeError(`expected a text of at most ${maxLength} characters, got ${length}`);
  return parts.join(separator);
}

function repr(value: JinjaValue): string {
  return value.type === "StringValue" ? quoted(value.value as string) : str(value);
}

/** Python's `str`: what `{{ value }}` prints. */
export function str(value: JinjaValue): string {
  switch (value.type) {
    case "UndefinedValue":
      return "";
    case "NullValue":
      return "None";
    case "BooleanValue":
      return value.value === true ? "True" : "False";
    case "ArrayValue":
      return `[${join((value.value as JinjaValue[]).map(repr), ", ")}]`;
    case "ObjectValue": {
      const entries = [...(value.value as Map<string, JinjaValue>)];
      return `{${join(
        entries.map(([key, item]) => `${quoted(key)}: ${repr(item)}`),
        ", ",
      )}}`;
    }
    default:
      return String(value);
  }
}

function isNumber(value: JinjaValue): boolean {
  return ["IntegerValue", "FloatValue", "BooleanValue"].includes(value.type);
}

/** Python's `==`: by content, and never across types other than numbers. */
export function equals(a: JinjaValue, b: JinjaValue): boolean {
  if (isNumber(a) && isNumber(b)) return Number(a.value) === Number(b.value);
  if (a.type !== b.type) return false;
  if (a.type === "ArrayValue") {
    const [left, right] = [a.value as JinjaValue[], b.value as JinjaValue[]];
    return left.length === right.length && left.every((item, i) => equals(item, right[i] as JinjaValue));
  }
  if (a.type === "ObjectValue") {
    const [left, right] = [a.value as Map<string, JinjaValue>, b.value as Map<string, JinjaValue>];
    const isSame = ([key, item]: [string, JinjaValue]): boolean =>
      right.has(key) && equals(item, right.get(key)!);
    return left.size === right.size && [...left].every(isSame);
  }
  return a.value === b.value;
}

/** HTML escaping as MarkupSafe does it. */
export function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "'": "&#39;",
    '"': "&#34;",
  };
  return text.replace(/[&<>'"]/g, (char) => entities[char] as string);
}
