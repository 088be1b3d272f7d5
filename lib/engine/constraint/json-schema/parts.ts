/** The parts of objects and lists, with what stands between them. */
import type { Rules } from "./rules.ts";

/** The pairs of an object. */
export interface Parts {
  /** In the order in which they stand. */
  readonly named: readonly { readonly pair: string; readonly isOptional: boolean }[];
  /** Any number of these may follow. */
  readonly others: string | undefined;
}

/** An object of these pairs. */
export function partsBody(rules: Rules, { named, others }: Parts): string {
  const { comma } = rules;
  const firstRequired = named.findIndex(({ isOptional }) => !isOptional);
  // What may follow each pair; a rule where two of the ways below use it.
  const numShared = firstRequired < 0 ? named.length : firstRequired;
  let rest = others === undefined ? "" : `(${comma} ${others})*`;
  const ways: string[] = others === undefined || firstRequired >= 0 ? [] : [`${others} ${rest}`];
  for (const [i, { pair, isOptional }] of [...named.entries()].reverse()) {
    if (rest !== "" && numShared > 0 && i <= numShared) rest = rules.add("rest", rest);
    if (i <= numShared) ways.unshift(`${pair} ${rest}`);
    rest = isOptional ? `(${comma} ${pair})? ${rest}` : `${comma} ${pair} ${rest}`;
  }
  return enclosed(rules, ["{", "}"], ways, firstRequired < 0);
}

/** The items of a list. */
interface Items {
  /** Each at its place. */
  readonly first: readonly string[];
  /** Those behind, where there may be any. */
  readonly others: string | undefined;
  readonly least: number;
  readonly most: number;
}

/** A list of these items. */
export function listBody(rules: Rules, { first, others, least, most }: Items): string {
  const items = first.length === 0 && others !== undefined ? [others] : first;
  const numPlaces = items.length;
  const { comma, space } = rules;
  if (most === 0 || numPlaces === 0) return `"[" ${space} "]"`;
  const hasOthers = others !== undefined && most > numPlaces;
  let rest = hasOthers
    ? rules.repeat(`${comma} ${others}`, Math.max(0, least - numPlaces), most - numPlaces)
    : "";
  for (let i = numPlaces - 1; i > 0; i--)
    rest = i < least ? `${comma} ${items[i]} ${rest}` : `(${comma} ${items[i]} ${rest})?`;
  return enclosed(rules, ["[", "]"], [`${items[0]} ${rest}`], least === 0);
}

function enclosed(
  rules: Rules,
  [open, close]: readonly [string, string],
  ways: readonly string[],
  mayBeEmpty: boolean,
): string {
  const { space } = rules;
  if (ways.length === 0) return `"${open}" ${space} "${close}"`;
  const inside = `${rules.either(ways)} ${space}`;
  return `"${open}" ${space} ${mayBeEmpty ? `(${inside})?` : inside} "${close}"`;
}
