/** Short passages about people with similar names, and random vectors, both from a seed. */
import type { Passage } from "../../lib/search/corpus/passage.ts";
import { randomFrom } from "../dice.ts";

const starts = ["Va", "So", "Ker", "Mi", "Ola", "Tre", "Bel", "Du", "Ni", "Fer"];
const middles = ["re", "lu", "mo", "sti", "ga", "vi", "ro", "ne"];
const ends = ["k", "ne", "ra", "th", "s", "mir", "la", "x"];
const trades = ["painter", "engineer", "poet", "physician", "cartographer"];

/** Every name once: first and family names of like syllables, so that many differ in a letter or two. */
export function peoplePassages(count: number): Passage[] {
  const random = randomFrom(7);
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? "";
  const name = (): string => pick(starts) + pick(middles) + pick(ends);
  const titles = new Set<string>();
  while (titles.size < count) titles.add(`${name()} ${name()}`);
  return [...titles].map((title, i) => ({
    id: `p${i}`,
    title,
    text: `${title} is a ${pick(trades)} who was born in the town of ${name()}. ${title} later moved to ${name()}.`,
  }));
}

/** f32 [count, dim] with normally distributed components. */
export function randomVectors(count: number, dim: number, seed: number): Float32Array {
  const random = randomFrom(seed);
  return Float32Array.from(
    { length: count * dim },
    () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
  );
}
