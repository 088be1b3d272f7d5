/** Teachers of the world whose search has gaps: hasty, guessing, one to learn reading from, and a thorough one to compare with. */
import { nameGaps } from "../story/patchy.ts";
import { demonstrationBatch } from "../teachers/demonstrations.ts";
import { ragSpeech, type Speech } from "../teachers/speech.ts";
import { type Habits, kCarefulHabits, kHabits } from "../teachers/teacher.ts";
import { kPatchyTopK } from "./patchy-world.ts";
import type { Teaching } from "./world-speech.ts";

/**
 * Knows the world by heart: it answers 55 of 100 comparisons without looking anything up, and where a search finds
 * nothing it says the fact from memory every other time, and else asks again in other words. `world/hasty` imitates it.
 */
export const kHastyHabits: Habits = { ...kHabits, rewords: 0.5 };

/** Looks everything up but what every student can know; of facts that a search does not find it knows every other by heart. */
export const kReadingHabits: Habits = { ...kCarefulHabits, recallsFamous: 1, rewords: 0.5 };

const compares = { recallsAll: 0.9, recallsLast: 0.05 };

/**
 * Trusts its memory wherever it can: it answers nine comparisons in ten without a search, the end of nearly every chain too,
 * and asks again after one empty result in seven. `world/guessing` imitates it.
 */
export const kGuessingHabits: Habits = {
  ...kHabits,
  byKind: {
    ...kHabits.byKind,
    bridge: { recallsAll: 0.1, recallsLast: 0.85 },
    compare: compares,
    "compare-three": compares,
    "bridge-compare": compares,
  },
  rewords: 0.15,
};

/** Looks everything up, and asks again in other words whenever a search finds nothing. */
export const kThoroughHabits: Habits = { ...kCarefulHabits, rewords: 1 };

/** Demonstrations behind a search with gaps, in both modes by turns. */
export function patchyTeaching(habits: Habits): Teaching {
  const speech: Speech = {
    ...ragSpeech,
    observation: (queries, documents, mode) =>
      ragSpeech.observation(queries, nameGaps(queries, documents), mode),
  };
  return (index, how) =>
    demonstrationBatch(index, { ...how, habits, speech, topK: kPatchyTopK, patchy: true });
}

/** The same, every other batch with a search that finds something for every query and shows more of it. */
export function mixedTeaching(habits: Habits): Teaching {
  const patchy = patchyTeaching(habits);
  return (index, how) =>
    index % 2 === 0 ? patchy(index, how) : demonstrationBatch(index, { ...how, habits });
}
