/** A whole built-in world: one corpus, and train, validation and test questions that share no entities. */

import { checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { Dice } from "../../lib/base/random.ts";
import type { Passage } from "../../lib/search/corpus/passage.ts";
import { type Cast, type Census, drawCast, type Facts, inventFacts } from "./story/facts.ts";
import { kFamousCities, kNames } from "./story/names.ts";
import { writePassages } from "./story/passages.ts";
import { askQuestions, type WorldQuestion } from "./story/questions.ts";

/** The parts of a world's questions. */
export type WorldSplit = "train" | "validation" | "test";

/** How many questions each part has. */
export interface WorldOptions {
  readonly seed: number;
  /** @default 2400 */
  readonly numTrain?: number;
  /** @default 200 */
  readonly numValidation?: number;
  /** @default 500 */
  readonly numTest?: number;
}

const optionKinds: OptionKinds<WorldOptions> = {
  seed: "number",
  numTrain: "number",
  numValidation: "number",
  numTest: "number",
};

/** One world, ready to be indexed and asked about. */
export interface World {
  readonly passages: readonly Passage[];
  readonly questions: Readonly<Record<WorldSplit, readonly WorldQuestion[]>>;
  readonly facts: Readonly<Record<WorldSplit, Facts>>;
}

// A tenth of the questions validate and need few names; countries and famous cities belong to all parts.
const kCensus: Readonly<Record<WorldSplit, Census>> = {
  train: { person: 170, city: 50, country: 20, company: 40, work: 80 },
  validation: { person: 40, city: 12, country: 20, company: 10, work: 20 },
  test: { person: 110, city: 34, country: 20, company: 30, work: 60 },
};

function without(pool: Cast, used: Cast): Cast {
  const minus = (all: readonly string[], taken: readonly string[]): string[] => {
    const gone = new Set(taken);
    return all.filter((name) => !gone.has(name));
  };
  return {
    person: minus(pool.person, used.person),
    city: minus(pool.city, used.city),
    country: pool.country,
    company: minus(pool.company, used.company),
    work: minus(pool.work, used.work),
  };
}

function castSplits(dice: Dice): Record<WorldSplit, Cast> {
  let pool: Cast = without(kNames, {
    person: [],
    city: [...kFamousCities.keys()],
    country: [],
    company: [],
    work: [],
  });
  const casts = {} as Record<WorldSplit, Cast>;
  for (const split of ["train", "validation", "test"] as const) {
    const cast = drawCast(dice, kCensus[split], pool);
    pool = without(pool, cast);
    casts[split] = { ...cast, city: [...cast.city, ...kFamousCities.keys()] };
  }
  return casts;
}

function mergePassages(dice: Dice, facts: Readonly<Record<WorldSplit, Facts>>): Passage[] {
  const all = (["train", "validation", "test"] as const).flatMap((split) =>
    writePassages(dice, facts[split]),
  );
  const seen = new Set<string>();
  const passages: Passage[] = [];
  for (const { title, text } of all) {
    if (kFamousCities.has(title) && seen.has(title)) continue;
    seen.add(title);
    passages.push({ id: String(passages.length), title, text });
  }
  return passages;
}

/**
 * Invents a world: the same seed gives the same corpus and the same questions.
 *
 * @returns passages of all parts in one corpus; questions whose people, films, companies and cities (famous ones
 * excepted) occur in no other part
 * @example
 * const world = createWorld({ seed: 1 });
 * assert.equal(world.questions.test.length, 500);
 */
export function createWorld(options: WorldOptions): World {
  checkOptions("createWorld", options, optionKinds, ["seed"]);
  const { seed, numTrain = 2400, numValidation = 200, numTest = 500 } = options;
  const dice = new Dice(seed, 77);
  const casts = castSplits(dice);
  const facts = {
    train: inventFacts(dice, casts.train),
    validation: inventFacts(dice, casts.validation),
    test: inventFacts(dice, casts.test),
  };
  const ask = (split: WorldSplit, count: number): WorldQuestion[] =>
    askQuestions(dice, facts[split], count, split).map((question) => ({ ...question, split }));
  return {
    passages: mergePassages(dice, facts),
    questions: {
      train: ask("train", numTrain),
      validation: ask("validation", numValidation),
      test: ask("test", numTest),
    },
    facts,
  };
}
