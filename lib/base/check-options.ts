/** Checks at run time what TypeScript checks at compile time: the keys of an options object and the types of its values. */
import { SeekError } from "./errors.ts";
import { unknownKey } from "./spelling.ts";

/** Refuses a value; `name` is what messages call it. */
export type OptionCheck = (name: string, value: unknown) => void;

/**
 * The type of a value: what `typeof` says, a list, an AbortSignal, one of some words, what a function does not refuse, or
 * `any` for what is checked elsewhere.
 */
type OptionKind =
  | "number"
  | "string"
  | "boolean"
  | "function"
  | "object"
  | "list"
  | "signal"
  | "any"
  | readonly (string | number | false)[]
  | OptionCheck;

/** The keys of an options type and the kind of each; the compiler refuses one that is missing or unknown. */
export type OptionKinds<Options> = { readonly [Key in keyof Options]-?: OptionKind };

const articles = {
  number: "a number",
  string: "a string",
  boolean: "true or false",
  list: "a list",
  signal: "an AbortSignal",
} as const;

type SimpleKind = Exclude<OptionKind, "any" | OptionCheck>;

const expectedOf = (kind: SimpleKind): string => {
  if (typeof kind !== "string") return kind.map((word) => JSON.stringify(word)).join(" or ");
  if (kind === "function") return "a function";
  return kind === "object" ? "an object" : articles[kind];
};

function isOfKind(value: unknown, kind: SimpleKind): boolean {
  if (typeof kind !== "string") return (kind as readonly unknown[]).includes(value);
  if (kind === "list")
    return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (kind === "signal") return value instanceof AbortSignal;
  if (kind === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === kind;
}

/** A value as a message shows it: short, strings in quotes, objects of classes by name. */
export function shownValue(value: unknown): string {
  const text = textOf(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null)
    return typeof value === "function" ? "a function" : String(value);
  const { name } = value.constructor ?? { name: "Object" };
  if (name !== "Object" && name !== "Array") return `an object of ${name}`;
  try {
    return JSON.stringify(value);
  } catch {
    return "an object";
  }
}

/**
 * Refuses what an options object should not hold. A key whose value is undefined counts as absent. Ranges are
 * checked where the values are used.
 *
 * @param name - of the call, for messages
 * @param options - what the caller gave
 * @param kinds - every key there is
 * @param required - those that must be there
 * @returns the options
 * @throws ERR_ARGUMENT naming the call, the key, what was expected, what was got, and the nearest spelling
 * @example
 * const kinds = { maxTokens: "number", stop: "list" } as const;
 * assert.throws(() => checkOptions("generate", { maxtoken: 3 }, kinds), { message: /did you mean "maxTokens"/ });
 */
export function checkOptions<Options>(
  name: string,
  options: Options,
  kinds: Readonly<Record<string, OptionKind>>,
  required: readonly string[] = [],
): Options {
  if (!isOfKind(options, "object"))
    throw new SeekError("ERR_ARGUMENT", `${name}: expected an object of options, got ${shownValue(options)}`);
  for (const [key, value] of Object.entries(options as object)) {
    const kind = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
    if (kind === undefined)
      throw new SeekError("ERR_ARGUMENT", `${name}: ${unknownKey(key, Object.keys(kinds))}`);
    if (value !== undefined) checkArgument(`${name}: ${key}`, value, kind);
  }
  for (const key of required)
    checkArgument(
      `${name}: ${key}`,
      (options as Readonly<Record<string, unknown>>)[key],
      kinds[key] ?? "any",
    );
  return options;
}

/**
 * The kind of an option that holds options itself.
 *
 * @param kinds - every key there is
 * @param required - those that must be there
 * @returns a check of such options, whose messages name the way to the key
 * @example
 * const transport = optionsOf({ timeoutMs: "number" });
 * const options = { transport: { timeout: 5 } };
 * assert.throws(() => checkOptions("remoteSearch", options, { transport }), {
 *   message: 'remoteSearch: transport: unknown key "timeout"; did you mean "timeoutMs"?',
 * });
 */
export function optionsOf<Options>(
  kinds: OptionKinds<Options>,
  required: readonly (keyof Options & string)[] = [],
): OptionCheck {
  return (name, options) => void checkOptions(name, options, kinds, required);
}

/**
 * Refuses an argument of another type.
 *
 * @param name - of the call and the argument, for messages
 * @param value - what the caller gave
 * @param kind - what it must be
 * @throws ERR_ARGUMENT naming both, what was expected and what was got
 * @example
 * assert.throws(() => checkArgument("Model.load: folder", 5, "string"), { message: /expected a string, got 5/ });
 */
export function checkArgument(name: string, value: unknown, kind: OptionKind): void {
  if (kind === "any") return;
  if (typeof kind === "function") kind(name, value);
  else if (!isOfKind(value, kind))
    throw new SeekError("ERR_ARGUMENT", `${name}: expected ${expectedOf(kind)}, got ${shownValue(value)}`);
}

/** Which numbers an option may be; NaN and infinities are none. */
export interface NumberBounds {
  /** The least. */
  readonly from?: number;
  /** Less than the least. */
  readonly above?: number;
  /** The greatest. */
  readonly to?: number;
  /** More than the greatest. */
  readonly below?: number;
  /** Whether fractions are refused. @default false */
  readonly isWhole?: boolean;
}

/**
 * The kind of a number within bounds.
 *
 * @param bounds - see {@link NumberBounds}
 * @returns a check that throws ERR_RANGE for other numbers
 * @example
 * const kinds = { steps: numberIn({ from: 1, isWhole: true }) };
 * assert.throws(() => checkOptions("train", { steps: 1.5 }, kinds), {
 *   message: "train: steps: expected a whole number from 1 on, got 1.5",
 * });
 */
export function numberIn(bounds: NumberBounds): OptionCheck {
  const { from, above, to, below, isWhole = false } = bounds;
  const { NEGATIVE_INFINITY: least, POSITIVE_INFINITY: greatest } = Number;
  return (name, value) => {
    checkArgument(name, value, "number");
    const number = value as number;
    const isNumber = isWhole ? Number.isSafeInteger(number) : Number.isFinite(number);
    const isAbove = number >= (from ?? least) && number > (above ?? least);
    if (isNumber && isAbove && number <= (to ?? greatest) && number < (below ?? greatest)) return;
    throw new SeekError("ERR_RANGE", `${name}: expected ${boundsText(bounds)}, got ${number}`);
  };
}

function boundsText({ from, above, to, below, isWhole }: NumberBounds): string {
  const least = from === undefined ? above !== undefined && `above ${above}` : `from ${from}`;
  const greatest = to === undefined ? below !== undefined && `below ${below}` : `to ${to}`;
  const open = from !== undefined && !greatest && "on";
  return [isWhole ? "a whole number" : "a finite number", least, greatest, open].filter(Boolean).join(" ");
}

/** A whole number from 1 on: a count. */
export const countKind: OptionCheck = numberIn({ from: 1, isWhole: true });

/** A whole number from 0 on: a seed, or a count of what may be none. */
export const wholeKind: OptionCheck = numberIn({ from: 0, isWhole: true });
