/** Teachers of the world whose search has gaps: the only one at hand, and a better one to compare with. */
import { nameGaps } from "../story/patchy.ts";
import { demonstrationBatch } from "../teachers/demonstrations.ts";
import { ragSpeech, type Speech } from "../teachers/speech.ts";
import { type Habits, kCarefulHabits, kHabits } from "../teachers/teacher.ts";
import { kPatchyTopK } from "./patchy-world.ts";
import type { Teaching } from "./world-speech.ts";

/**
 * Knows the world by heart: it answers 55 of 100 comparisons without looking anything up, and where a search finds
 * nothing it says the fact from memory every other time, and else asks again in other words.
 */
export const kHastyHabits: Habits = { ...kHabits, rewords: 0.5 };

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
