/** Orders that follow from a seed alone, so that a resumed run sees the data in the same order. */
import { mixSeed } from "../../base/random.ts";

/**
 * The numbers below `count` in an order that depends on nothing but the arguments.
 *
 * @param count - how many
 * @param seed - of the run
 * @param name - what is ordered, for example `epoch 3`
 * @returns a permutation
 */
export function seededOrder(count: number, seed: number, name: string): number[] {
  const keys = Array.from({ length: count }, (_, i) => mixSeed(seed, name, i));
  return keys.map((_, i) => i).sort((a, b) => keys[a]! - keys[b]! || a - b);
}

/**
 * Which of `count` items step `step` uses when `perStep` are taken at a time, each epoch in an order of its own. Steps
 * run on from one epoch into the next, so every step is full.
 *
 * @param step - from 0
 * @param options - `count` items in all, `perStep` of them a step, `seed` of the run
 * @returns `perStep` numbers below `count`
 */
export function itemsOfStep(
  step: number,
  { count, perStep, seed }: { readonly count: number; readonly perStep: number; readonly seed: number },
): number[] {
  const items: number[] = [];
  let order: number[] = [];
  let epoch = -1;
  for (let position = step * perStep; items.length < perStep; position += 1) {
    const current = Math.floor(position / count);
    if (current !== epoch) {
      epoch = current;
      order = seededOrder(count, seed, `epoch ${epoch}`);
    }
    items.push(order[position % count]!);
  }
  return items;
}
