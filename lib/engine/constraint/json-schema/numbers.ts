/** Numbers within bounds, digit by digit. */
import { type Rules, refuse, type Schema } from "./rules.ts";

/** Decimal numbers of so many digits differ as f64 where they differ at all. */
const mostDigits = 15;

/** Digits behind the point of a number within bounds. */
const mostDecimals = 10;

const greatest = 10 ** mostDigits - 1;

function freeInteger(rules: Rules): string {
  return `"-"? ("0" | [1-9] ${rules.repeat("[0-9]", 0, mostDigits - 1)})`;
}

function freeNumber(rules: Rules): string {
  const fraction = rules.repeat("[0-9]", 1, mostDigits - 1);
  return `${freeInteger(rules)} ("." ${fraction})? ([eE] [+-]? [0-9] [0-9]?)?`;
}

/** Where a range ends. */
interface Bound {
  readonly value: number;
  /** The value itself is out. */
  readonly isOpen: boolean;
}

/** What a number of the schema looks like, in GBNF. @throws ERR_ARGUMENT for bounds that nothing meets */
export function numberGrammar(schema: Schema, rules: Rules, isInteger: boolean, path: string): string {
  const isBounded = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].some(
    (key) => schema[key] !== undefined,
  );
  const low = tighter(schema, path, "minimum", "exclusiveMinimum", Math.max);
  const high = tighter(schema, path, "maximum", "exclusiveMaximum", Math.min);
  if (!isBounded) return isInteger ? freeInteger(rules) : freeNumber(rules);
  if (isInteger && low.value <= -greatest && high.value >= greatest) return freeInteger(rules);
  const zero = { value: 0, isOpen: false };
  const least = low.value < 0 ? zero : low;
  const ways = high.value < 0 ? [] : between(least, high, isInteger, rules);
  if (low.value < 0) {
    const nearest = high.value > 0 ? zero : { ...high, value: -high.value };
    const below = between(nearest, { ...low, value: -low.value }, isInteger, rules);
    if (below.length > 0) ways.push(`"-" ${rules.either(below)}`);
  }
  if (ways.length === 0) refuse(path, `no number of at most ${mostDigits} digits is within the bounds`);
  return rules.either(ways);
}

function tighter(
  schema: Schema,
  path: string,
  closedKey: string,
  openKey: string,
  choose: (a: number, b: number) => number,
): Bound {
  const unbound = -choose(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  const [closed, open] = [closedKey, openKey].map((key) => {
    const value = schema[key] === undefined ? unbound : schema[key];
    return typeof value === "number" ? value : refuse(path, `"${key}" has to be a number`);
  }) as [number, number];
  const value = choose(closed, open);
  return { value, isOpen: value === open && open !== unbound };
}

/** The numbers from `low`, at least 0, to `high`; those of each count of digits before the point apart. */
function between(low: Bound, high: Bound, isInteger: boolean, rules: Rules): string[] {
  const ways: string[] = [];
  for (let numDigits = 1; numDigits <= mostDigits; numDigits++) {
    const decimals = isInteger ? 0 : Math.min(mostDecimals, mostDigits - numDigits);
    const unit = 10n ** BigInt(decimals);
    const first = numDigits === 1 ? 0n : 10n ** BigInt(numDigits - 1) * unit;
    const last = 10n ** BigInt(numDigits) * unit - 1n;
    const [least, most] = [scaled(low, decimals, true), scaled(high, decimals, false)];
    const [from, to] = [least > first ? least : first, most < last ? most : last];
    if (from <= to) ways.push(...decimalsBetween(split(from, decimals), split(to, decimals), rules));
  }
  return ways;
}

/** The nearest multiple of 10^-decimals within the bound, times 10^decimals. */
function scaled({ value, isOpen }: Bound, decimals: number, isLow: boolean): bigint {
  const size = Math.min(value, greatest + 1);
  const [whole = "", fraction = ""] = (size < 1e-6 ? size.toFixed(20) : String(size)).split(".");
  const digits = fraction.padEnd(decimals, "0");
  const below = BigInt(whole + digits.slice(0, decimals));
  const isExact = isZero(digits.slice(decimals));
  if (isLow) return isExact && !isOpen ? below : below + 1n;
  return isExact && isOpen ? below - 1n : below;
}

/** The digits before and behind the point. */
function split(scaledValue: bigint, decimals: number): readonly [string, string] {
  const digits = String(scaledValue).padStart(decimals + 1, "0");
  return [digits.slice(0, digits.length - decimals), digits.slice(digits.length - decimals)];
}

const isZero = (digits: string): boolean => /^0*$/.test(digits);
const isFull = (digits: string): boolean => /^9*$/.test(digits);

function decimalsBetween(
  [low, lowFraction]: readonly [string, string],
  [high, highFraction]: readonly [string, string],
  rules: Rules,
): string[] {
  if (low === high) return [`"${low}" ${fraction(lowFraction, highFraction, rules)}`];
  const [zeros, nines] = [lowFraction.replace(/./g, "0"), lowFraction.replace(/./g, "9")];
  const ways: string[] = [];
  const first = BigInt(low) + (isZero(lowFraction) ? 0n : 1n);
  const last = BigInt(high) - (isFull(highFraction) ? 0n : 1n);
  if (!isZero(lowFraction)) ways.push(`"${low}" ${fraction(lowFraction, nines, rules)}`);
  if (first <= last)
    ways.push(`${digits(String(first), String(last), false, rules)} ${fraction(zeros, nines, rules)}`);
  if (!isFull(highFraction)) ways.push(`"${high}" ${fraction(zeros, highFraction, rules)}`);
  return ways;
}

function fraction(low: string, high: string, rules: Rules): string {
  if (low === "") return "";
  const behind = `"." ${digits(low, high, true, rules)}`;
  return isZero(low) ? `(${behind})?` : behind;
}

/** Digits from `low` to `high`, which are as many; those of a fraction may end where zeros would follow. */
function digits(low: string, high: string, isFraction: boolean, rules: Rules): string {
  const rest = (from: string, to: string): string => {
    if (from === "") return "";
    const more = digits(from, to, isFraction, rules);
    return isFraction && isZero(from) ? `(${more})?` : more;
  };
  const [a, b, lowRest, highRest] = [Number(low[0]), Number(high[0]), low.slice(1), high.slice(1)];
  if (a === b) return `"${a}" ${rest(lowRest, highRest)}`;
  const first = isZero(lowRest) ? a : a + 1;
  const last = isFull(highRest) ? b : b - 1;
  const any = rules.repeat("[0-9]", isFraction ? 0 : lowRest.length, lowRest.length);
  const ways: string[] = [];
  if (first > a) ways.push(`"${a}" ${rest(lowRest, lowRest.replace(/./g, "9"))}`);
  if (first <= last) ways.push(`[${first}-${last}] ${any}`);
  if (last < b) ways.push(`"${b}" ${rest(highRest.replace(/./g, "0"), highRest)}`);
  return rules.either(ways);
}
