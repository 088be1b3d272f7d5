/** Calls in XML, an element for each argument, as Qwen3-Coder writes them. */
import type { CallableFunction, CallForm } from "./reply-format.ts";
import type { Reading } from "./reply-text.ts";
import { accept, acceptWord, closing, markPattern, run, type Text } from "./steps.ts";

/** What a call begins with, behind its mark; some models forget the mark. */
export const functionTag = "<function=";

const ofName = /[^\s<>"]/;
const endOfValue = markPattern(["</parameter>"]);

/** What is known of a call before it is read. */
interface Known {
  readonly functions: readonly CallableFunction[];
  /** Whether the tag of the function has been read. */
  readonly isOpen: boolean;
}

/**
 * Reads one call behind the mark that begins it. Arguments become the JSON that the function's schema asks for; those that can
 * only be strings come piece by piece.
 *
 * @returns whether it was read; what was not is held
 */
export function* parametersCall(
  text: Text,
  { end }: CallForm,
  { functions, isOpen }: Known,
): Reading<boolean> {
  const name = yield* opening(text, isOpen ? "" : functionTag);
  if (name === undefined) return false;
  const schema = functions.find((each) => each.name === name)?.parameters;
  text.beginCall(name);
  text.write("toolArguments", "{");
  for (let numRead = 0; !(yield* acceptWord(text, "</function>")); numRead++) {
    const key = yield* opening(text, "<parameter=");
    if (key === undefined) return false;
    text.write("toolArguments", `${numRead === 0 ? "" : ", "}${JSON.stringify(key)}: `);
    const types = typesOf(schema, key);
    const isWhole = types.size === 1 && types.has("string") ? stringValue(text) : typedValue(text, types);
    if (!(yield* isWhole)) return false;
  }
  text.write("toolArguments", "}");
  yield* closing(text, end);
  return true;
}

/** Reads a tag up to its end and gives the name in it, or nothing. */
function* opening(text: Text, tag: string): Reading<string | undefined> {
  if (!(yield* acceptWord(text, tag))) return undefined;
  const name = yield* run(text, ofName);
  return name !== "" && (yield* acceptWord(text, ">")) ? name : undefined;
}

function* stringValue(text: Text): Reading<boolean> {
  text.write("toolArguments", '"');
  const isWhole = yield* value(text, (part) =>
    text.write("toolArguments", JSON.stringify(part).slice(1, -1)),
  );
  if (isWhole) text.write("toolArguments", '"');
  return isWhole;
}

function* typedValue(text: Text, types: ReadonlySet<string>): Reading<boolean> {
  const parts: string[] = [];
  const isWhole = yield* value(text, (part) => parts.push(part));
  if (isWhole) text.write("toolArguments", jsonOf(parts.join(""), types));
  return isWhole;
}

/**
 * Reads a value and the mark that ends it. One line break behind the opening mark and one before the closing are no part of it.
 *
 * @param onPart - is given each part as it is read
 * @returns whether there was a mark that ends it
 */
function* value(text: Text, onPart: (part: string) => void): Reading<boolean> {
  yield* accept(text, "\n");
  let waiting = "";
  for (;;) {
    const found = text.find(endOfValue);
    const plain = text.take(found?.index ?? text.rest.length);
    if (plain !== "") {
      onPart(waiting + plain);
      waiting = "";
    }
    const { space: blank, mark, cut } = found?.match.groups ?? {};
    if (mark !== undefined) {
      text.take(mark.length);
      onPart(waiting.replace(/\n$/, ""));
      return true;
    }
    waiting += text.take((blank ?? "").length);
    if ((blank !== undefined && text.rest !== "") || (yield* text.more())) continue;
    onPart(waiting + text.take((cut ?? "").length));
    return false;
  }
}

/** The types that a schema gives an argument; none where it does not tell. */
export function typesOf(schema: object | undefined, key: string): ReadonlySet<string> {
  const { properties } = (schema ?? {}) as { readonly properties?: Readonly<Record<string, unknown>> };
  const own = Object.hasOwn(properties ?? {}, key) ? properties?.[key] : undefined;
  return new Set(typesIn(own));
}

function typesIn(schema: unknown): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, anyOf, oneOf, enum: values, ...rest } = schema as Readonly<Record<string, unknown>>;
  if (type !== undefined) return [type].flat().map(String);
  const branches = anyOf ?? oneOf;
  if (Array.isArray(branches)) return branches.flatMap(typesIn);
  if (Array.isArray(values)) return values.map(kindOf);
  return "const" in rest ? [kindOf(rest.const)] : [];
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Models that read much Python write its words. */
const pythonWords: Readonly<Record<string, string>> = { True: "true", False: "false", None: "null" };

/** The JSON of what was written for an argument of these types. */
function jsonOf(written: string, types: ReadonlySet<string>): string {
  const trimmed = written.trim();
  const json = types.size > 0 ? (pythonWords[trimmed] ?? trimmed) : trimmed;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return JSON.stringify(written);
  }
  const kind = kindOf(value);
  const isOfType = types.has(kind) || (Number.isInteger(value) && types.has("integer"));
  const isString = types.has("string") || (types.size === 0 && kind === "string");
  return isOfType && kind !== "string" ? json : isString ? JSON.stringify(written) : json;
}
