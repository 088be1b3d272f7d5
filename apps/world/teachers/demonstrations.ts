/** Demonstrations, each batch from a world of its own. */

import { Dice } from "../../../lib/base/random.ts";
import type { QueryMode } from "../../../lib/text/observation.ts";
import { Library } from "../library.ts";
import { type Cast, type Census, drawCast, inventFacts } from "../story/facts.ts";
import { type Kind, kNames } from "../story/names.ts";
import { writePassages } from "../story/passages.ts";
import { askQuestion, type QuestionKind } from "../story/questions.ts";
import type { Speech } from "./speech.ts";
import {
  type DemonstrationSegment,
  type DemonstrationWorld,
  demonstrate,
  type Habits,
  kCarefulHabits,
  kHabits,
} from "./teacher.ts";

/** One scripted trajectory. */
export interface Demonstration {
  readonly segments: readonly DemonstrationSegment[];
  readonly mode: QueryMode;
  readonly kind: QuestionKind;
  readonly answer: string;
}

/** What a demonstration source varies. */
export interface DemonstrationOptions {
  readonly seed: number;
  /** Both modes in turn when left out. */
  readonly mode?: QueryMode;
  /** Demonstrations of one world, which is one batch. @default 24 */
  readonly perWorld?: number;
  /** Passages per query. @default 2 */
  readonly topK?: number;
  readonly habits?: Habits;
  /**
   * Demonstrations over which the names in use grow from the first few to all: copying is learnt far sooner from few
   * names, and holds for the rest. 0 uses all names from the start. @default 0
   */
  readonly warmUp?: number;
  /**
   * Demonstrations of a careful teacher, who looks everything up, before one with `habits` takes over: reading is
   * learnt where every word can be known, and habits last. @default 0
   */
  readonly careful?: number;
  /** Searches as `patchySearch` does. @default false */
  readonly patchy?: boolean;
  /** The tags and observations of the agents to be taught. @default RAG-R1's */
  readonly speech?: Speech;
}

// A teacher to learn reading from: only what every student can know is not looked up.
const kReader: Habits = { ...kCarefulHabits, recallsFamous: 1 };

const kCensus: Census = { person: 48, city: 24, country: 12, company: 12, work: 24 };

/** The first names of each kind: enough for one world at `progress` 0, all at 1. */
function namesInUse(progress: number): Cast {
  if (!(progress < 1)) return kNames;
  const first = (kind: Kind): readonly string[] => {
    const all = kNames[kind];
    return all.slice(0, Math.round(kCensus[kind] + progress * (all.length - kCensus[kind])));
  };
  return {
    person: first("person"),
    city: first("city"),
    country: first("country"),
    company: first("company"),
    work: first("work"),
  };
}

/**
 * The demonstrations of one fresh world: a fact must be read, for in the next world it is another.
 *
 * @param index - which world; the same seed and index always give the same demonstrations
 * @example
 * const batch = demonstrationBatch(0, { seed: 1, mode: "multi" });
 * assert.equal(batch.length, 24);
 */
export function demonstrationBatch(index: number, options: DemonstrationOptions): Demonstration[] {
  const { mode, perWorld = 24, topK = 2, speech, patchy } = options;
  const { dice, habits, ...world } = worldOfBatch(index, options);
  const how = (chosen: QueryMode) => ({ mode: chosen, topK, habits, speech, patchy });
  return Array.from({ length: perWorld }, (_, i) => {
    const asked = askQuestion(dice, world.facts, "");
    const chosen = mode ?? (i % 2 === 0 ? "single" : "multi");
    const segments = demonstrate(dice, world, asked, how(chosen));
    return { segments, mode: chosen, kind: asked.kind, answer: asked.answers[0]! };
  });
}

/** The fresh world of one batch, the habits of its teacher, and the dice for what is asked and done in it. */
export function worldOfBatch(
  index: number,
  options: Omit<DemonstrationOptions, "mode" | "topK" | "speech">,
): DemonstrationWorld & { readonly dice: Dice; readonly habits: Habits } {
  const { seed, perWorld = 24, warmUp = 0, careful = 0 } = options;
  const { habits: own = kHabits } = options;
  const habits = index * perWorld < careful ? { ...kReader, rewords: own.rewords } : own;
  const dice = new Dice(seed, index);
  const facts = inventFacts(dice, drawCast(dice, kCensus, namesInUse((index * perWorld) / warmUp)));
  return { dice, facts, habits, library: new Library(writePassages(dice, facts)) };
}

/** The demonstrations of one world after another, `count` in all. */
export function* demonstrations(
  options: DemonstrationOptions & { readonly count: number },
): Generator<Demonstration, void, void> {
  let left = options.count;
  for (let index = 0; left > 0; index++) {
    const batch = demonstrationBatch(index, options).slice(0, left);
    left -= batch.length;
    yield* batch;
  }
}
