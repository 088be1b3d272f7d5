/** Sets of characters, as ranges of their numbers and as the bytes of UTF-8. */
import { byteRange, choice, type Expression, sequence } from "./expression.ts";

/** Numbers of characters, both ends included, rising and apart. */
export type Characters = readonly (readonly [from: number, to: number])[];

/** All that UTF-8 has. */
export const everyCharacter: Characters = [
  [0, 0xd7ff],
  [0xe000, 0x10ffff],
];

/** Ranges in any order as one set. */
export function charactersOf(ranges: Characters): Characters {
  const merged: [number, number][] = [];
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

/** Those that are in both. */
export function shared(some: Characters, others: Characters): Characters {
  return charactersOf(
    some.flatMap(([from, to]) =>
      others
        .map(([first, last]): [number, number] => [Math.max(from, first), Math.min(to, last)])
        .filter(([first, last]) => first <= last),
    ),
  );
}

/** Those that are in none of the ranges. */
export function without(excluded: Characters): Characters {
  const gaps: [number, number][] = [];
  let from = 0;
  for (const [first, last] of excluded) {
    if (first > from) gaps.push([from, first - 1]);
    from = last + 1;
  }
  return shared([...gaps, [from, Math.max(from, 0x10ffff)]], everyCharacter);
}

/** Where a character takes one byte more, and the last with as many. */
const lastOfLength = [0x7f, 0x7ff, 0xffff, 0x10ffff];

/** One of the characters, in bytes. */
export function bytesOf(characters: Characters): Expression {
  const ways: Expression[] = [];
  for (const [from, to] of shared(characters, everyCharacter)) {
    let first = from;
    for (const last of lastOfLength) {
      if (first > last || first > to) continue;
      ways.push(...between(encoded(first), encoded(Math.min(to, last))));
      first = last + 1;
    }
  }
  return choice(ways);
}

const encoded = (code: number): readonly number[] => [...Buffer.from(String.fromCodePoint(code))];

const [leastNext, mostNext] = [0x80, 0xbf];

/** Bytes from `low` to `high`, which are as many. */
function between(low: readonly number[], high: readonly number[]): Expression[] {
  const [[first = 0, ...lowRest], [last = 0, ...highRest]] = [low, high];
  if (lowRest.length === 0) return [byteRange(first, last)];
  const led = (from: number, to: number, rest: readonly Expression[]): Expression =>
    sequence([byteRange(from, to), choice(rest)]);
  if (first === last) return [led(first, first, between(lowRest, highRest))];
  const [zeros, ones] = [lowRest.map(() => leastNext), lowRest.map(() => mostNext)];
  const isFromStart = lowRest.every((byte) => byte === leastNext);
  const isToEnd = highRest.every((byte) => byte === mostNext);
  const [from, to] = [isFromStart ? first : first + 1, isToEnd ? last : last - 1];
  return [
    ...(isFromStart ? [] : [led(first, first, between(lowRest, ones))]),
    ...(from <= to ? [led(from, to, between(zeros, ones))] : []),
    ...(isToEnd ? [] : [led(last, last, between(zeros, highRest))]),
  ];
}
