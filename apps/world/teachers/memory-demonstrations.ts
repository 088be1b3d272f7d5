/** Demonstrations for agents with a memory stack, each batch from a world of its own, as rows to learn from. */

import { askQuestion, type QuestionKind } from "../story/questions.ts";
import {
  demonstrateMemory,
  kMemoryHabits,
  kTidyHabits,
  type MemoryHabits,
  type MemorySegment,
  type MemorySpeech,
  visibleRows,
} from "./agentic-teacher.ts";
import { worldOfBatch } from "./demonstrations.ts";
import type { DemonstrationSegment, Habits } from "./teacher.ts";

/** What a source of these demonstrations varies. */
interface MemoryDemonstrationOptions {
  readonly seed: number;
  readonly speech: MemorySpeech;
  /** Demonstrations of one world, which is one batch. @default 24 */
  readonly perWorld?: number;
  /** Passages per query. @default 2 */
  readonly topK?: number;
  /** @default those of the shipped model's teacher */
  readonly habits?: Habits;
  /** @default tidy habits seven times in ten */
  readonly memoryHabits?: MemoryHabits;
  /** Demonstrations of a careful and tidy teacher before the other one takes over. @default 0 */
  readonly careful?: number;
}

/** One scripted conversation in which things are forgotten. */
interface MemoryDemonstration {
  readonly segments: readonly MemorySegment[];
  readonly kind: QuestionKind;
  readonly answer: string;
}

/**
 * The demonstrations of one fresh world.
 *
 * @param index - which world; the same seed and index always give the same demonstrations
 * @param options - seed, words, habits
 * @returns conversations; `visibleRows` of their segments are what the policy saw
 */
export function memoryDemonstrationBatch(
  index: number,
  options: MemoryDemonstrationOptions,
): MemoryDemonstration[] {
  const { perWorld = 24, topK = 2, careful = 0, speech, memoryHabits = kMemoryHabits } = options;
  const { dice, habits, ...world } = worldOfBatch(index, options);
  const chosen = index * perWorld < careful ? kTidyHabits : memoryHabits;
  return Array.from({ length: perWorld }, () => {
    const asked = askQuestion(dice, world.facts, "");
    const segments = demonstrateMemory(dice, world, asked, { topK, habits, speech, memoryHabits: chosen });
    return { segments, kind: asked.kind, answer: asked.answers[0]! };
  });
}

/** The rows of the demonstrations of one world after another, of `count` demonstrations in all. */
export function* memoryRows(
  options: MemoryDemonstrationOptions & { readonly count: number },
): Generator<{ readonly segments: DemonstrationSegment[] }, void, void> {
  let left = options.count;
  for (let index = 0; left > 0; index++) {
    const batch = memoryDemonstrationBatch(index, options).slice(0, left);
    left -= batch.length;
    for (const { segments } of batch) for (const row of visibleRows(segments)) yield { segments: row };
  }
}
