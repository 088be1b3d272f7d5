/** Calls that are JSON objects of a name and arguments, alone or in a list. */
import type { CallForm } from "./reply-format.ts";
import type { Reading } from "./reply-text.ts";
import { accept, acceptWord, closing, json, jsonString, jsonText, next, space, type Text } from "./steps.ts";

/** How an object is read. */
interface ObjectOptions {
  readonly nameKeys: ReadonlySet<string>;
  /** Functions that a call without marks may name; it has no keys that calls do not have. */
  readonly bareNames?: ReadonlySet<string> | undefined;
}

const argumentKeys: ReadonlySet<string> = new Set(["arguments", "parameters"]);
const otherKeys: ReadonlySet<string> = new Set(["id", "type"]);

/**
 * Reads calls behind the mark that begins them.
 *
 * @param bareNames - functions that there are, for a call without a mark
 * @returns whether all was read; what was not is held
 */
export function* objectCalls(text: Text, form: CallForm, bareNames?: ReadonlySet<string>): Reading<boolean> {
  const options = { nameKeys: new Set(["name", form.nameKey ?? "name"]), bareNames };
  if (bareNames === undefined && (yield* acceptWord(text, "["))) {
    if (!(yield* sequence(text, options, ","))) return false;
    if (!(yield* acceptWord(text, "]"))) return false;
  } else if (!(yield* sequence(text, options, form.separator.trim()))) return false;
  yield* closing(text, form.end);
  return true;
}

/** Calls with a separator between, which begins none where it is empty. */
function* sequence(text: Text, options: ObjectOptions, separator: string): Reading<boolean> {
  do {
    yield* space(text);
    if (!(yield* callObject(text, options))) return false;
  } while (separator !== "" && (yield* acceptWord(text, separator)));
  return true;
}

/** What is known of a call so far. */
interface Call {
  name?: string;
  /** Arguments that came before the name. */
  waiting?: string;
  hasBegun: boolean;
}

function* callObject(text: Text, options: ObjectOptions): Reading<boolean> {
  const call: Call = { hasBegun: false };
  if (!(yield* accept(text, "{"))) return false;
  do {
    yield* space(text);
    if (!(yield* member(text, options, call))) return false;
  } while (yield* acceptWord(text, ","));
  if (call.name === undefined || !(yield* accept(text, "}"))) return false;
  if (!call.hasBegun) begin(text, call.name, call.waiting ?? "{}");
  else text.drop("toolArguments");
  return true;
}

function begin(text: Text, name: string, all: string): void {
  text.beginCall(name);
  text.write("toolArguments", all);
}

/** One key and its value. */
function* member(text: Text, options: ObjectOptions, call: Call): Reading<boolean> {
  const key = yield* jsonString(text);
  if (key === undefined || !(yield* acceptWord(text, ":"))) return false;
  yield* space(text);
  if (options.nameKeys.has(key) && call.name === undefined) return yield* callName(text, options, call);
  if (argumentKeys.has(key) && !call.hasBegun && call.waiting === undefined)
    return yield* callArguments(text, call);
  if (options.bareNames !== undefined && !otherKeys.has(key)) return false;
  return (yield* jsonText(text)) !== undefined;
}

function* callName(text: Text, { bareNames }: ObjectOptions, call: Call): Reading<boolean> {
  const name = yield* jsonString(text);
  if (name === undefined || name === "" || bareNames?.has(name) === false) return false;
  call.name = name;
  return true;
}

function* callArguments(text: Text, call: Call): Reading<boolean> {
  const isObject = (yield* next(text)) === "{";
  if (isObject && call.name !== undefined) {
    text.beginCall(call.name);
    call.hasBegun = true;
    return yield* json(text, (part) => text.write("toolArguments", part));
  }
  const written = yield* jsonText(text);
  const all = written === undefined || isObject ? written : argumentsIn(written);
  if (all === undefined) return false;
  if (call.name === undefined) call.waiting = all;
  else begin(text, call.name, all);
  call.hasBegun = call.name !== undefined;
  return true;
}

/** Some models write the arguments as a text that holds JSON, or none as null. */
function argumentsIn(written: string): string | undefined {
  const value: unknown = JSON.parse(written);
  if (value === null || value === "") return "{}";
  if (typeof value !== "string") return undefined;
  try {
    const inner: unknown = JSON.parse(value);
    return typeof inner === "object" && inner !== null && !Array.isArray(inner) ? value : undefined;
  } catch {
    return undefined;
  }
}
