/** Endless demonstrations, each batch from a world of its own, and RAG-R1's four kinds of SFT sample. */

import type { QueryMode } from "../text/observation.ts";
import { type Cast, type Census, drawCast, inventFacts } from "./facts.ts";
import { Library } from "./library.ts";
import { type Kind, kNames } from "./names.ts";
import { writePassages } from "./passages.ts";
import { askQuestion, type QuestionKind } from "./questions.ts";
import { Dice } from "./random.ts";
import { type DemonstrationSegment, demonstrate, type Habits, kHabits } from "./teacher.ts";

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
  /** Endless when left out. */
  readonly count?: number;
  /** Demonstrations drawn from one world before the next is invented. @default 48 */
  readonly perWorld?: number;
  /** Passages per query. @default 2 */
  readonly topK?: number;
  readonly habits?: Habits;
  /**
   * Demonstrations over which the names in use grow from the first few to all: copying is learnt far sooner from few
   * names, and holds for the rest. 0 uses all names from the start. @default 0
   */
  readonly warmUp?: number;
}

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

/** Demonstrations over fresh worlds: a fact must be read, for in the next world it is another. */
export function* demonstrations(options: DemonstrationOptions): Generator<Demonstration, void, void> {
  const {
    seed,
    mode,
    count = Number.POSITIVE_INFINITY,
    perWorld = 48,
    topK = 2,
    habits = kHabits,
    warmUp = 0,
  } = options;
  let made = 0;
  for (let worldIndex = 0; made < count; worldIndex++) {
    const dice = new Dice(seed, worldIndex);
    const facts = inventFacts(dice, drawCast(dice, kCensus, namesInUse(made / warmUp)));
    const library = new Library(writePassages(dice, facts));
    for (let i = 0; i < perWorld && made < count; i++, made++) {
      const asked = askQuestion(dice, facts, "");
      const chosen = mode ?? (i % 2 === 0 ? "single" : "multi");
      const segments = demonstrate(dice, { facts, library }, asked, { mode: chosen, topK, habits });
      yield { segments, mode: chosen, kind: asked.kind, answer: asked.answers[0]! };
    }
  }
}

/** RAG-R1's categories: answer at once, search at once, answer after searching, search after searching. */
export type SftCategory = 1 | 2 | 3 | 4;

/** One training sample: what the model reads and what it is to write. */
export interface SftSample {
  readonly input: readonly DemonstrationSegment[];
  readonly output: string;
  readonly category: SftCategory;
}

/** Cuts a demonstration at every point where the model must act. */
export function sftSamples({ segments }: Pick<Demonstration, "segments">): SftSample[] {
  return segments.flatMap((segment, i) => {
    if (segment.kind !== "policy") return [];
    const answers = segment.text.includes("</answer>");
    const category: SftCategory = i === 1 ? (answers ? 1 : 2) : answers ? 3 : 4;
    return [{ input: segments.slice(0, i), output: segment.text, category }];
  });
}
