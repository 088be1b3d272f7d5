/** The scripted teacher: thinks, searches and answers, and relies on its own memory more than a student should. */

import type { Dice } from "../../../lib/base/random.ts";
import type { QueryMode } from "../../../lib/text/observation.ts";
import type { Library } from "../library.ts";
import { type Facts, lookUp } from "../story/facts.ts";
import { kFamousCities } from "../story/names.ts";
import type { WorldPassage } from "../story/passages.ts";
import { isUnderstood } from "../story/patchy.ts";
import type { QuestionKind, WorldQuestion } from "../story/questions.ts";
import { type Fact, formalQueryFor, notFound, queryFor, statementOf } from "../story/wording.ts";
import { ragSpeech, type Speech } from "./speech.ts";

/** A piece of a demonstration: only the policy's pieces are trained. */
export interface DemonstrationSegment {
  readonly kind: "prompt" | "policy" | "observation";
  readonly text: string;
}

/** How often the teacher answers from memory: everything at once, or only what is asked last. */
interface Habit {
  readonly recallsAll: number;
  readonly recallsLast: number;
}

/** The teacher's habits: which facts it does not look up. */
export interface Habits {
  /** The share of famous facts it answers from memory, rightly: every student can learn them. */
  readonly recallsFamous: number;
  /** The share of other facts it answers from memory: it knows them, its student cannot. */
  readonly byKind: Readonly<Record<QuestionKind, Habit>>;
  /**
   * With a patchy search: the share of searches without a result that it words anew; what the others did not find it
   * says from memory. @default 0
   */
  readonly rewords?: number;
}

/** The habits behind the shipped demonstrations: a teacher who knows the world and trusts itself. */
export const kHabits: Habits = {
  recallsFamous: 1,
  byKind: {
    "one-hop": { recallsAll: 0.3, recallsLast: 0 },
    famous: { recallsAll: 0, recallsLast: 0 },
    bridge: { recallsAll: 0.1, recallsLast: 0.6 },
    compare: { recallsAll: 0.55, recallsLast: 0.1 },
    "compare-three": { recallsAll: 0.55, recallsLast: 0.1 },
    "bridge-compare": { recallsAll: 0.55, recallsLast: 0.1 },
  },
};

/**
 * Habits that are the same for every kind of question.
 *
 * @param recallsFamous - share of famous facts that are said from memory
 * @param habit - for all other facts
 * @returns the habits
 * @example
 * const { byKind } = sameHabits(1, { recallsAll: 0.9, recallsLast: 0 });
 * assert.equal(byKind.bridge.recallsAll, 0.9);
 */
export function sameHabits(recallsFamous: number, habit: Habit): Habits {
  const byKind = Object.fromEntries(Object.keys(kHabits.byKind).map((kind) => [kind, habit]));
  return { recallsFamous, byKind: byKind as Record<QuestionKind, Habit> };
}

/** A teacher that looks everything up. */
export const kCarefulHabits: Habits = sameHabits(0, { recallsAll: 0, recallsLast: 0 });

/** A fact on the way to an answer, and whether the teacher knows it by heart. */
export type Step = Fact & { readonly recalled: boolean };

/** The facts on the way from each start to its end. */
export function trace(facts: Facts, { starts, path }: WorldQuestion["program"]): Fact[][] {
  return starts.map((start) => {
    let entity = start;
    return path.map((relation) => {
      const fact = { entity, relation, value: lookUp(facts, entity, relation) };
      entity = fact.value;
      return fact;
    });
  });
}

/** Decides which facts the teacher does not look up. */
function decideRecall(
  dice: Dice,
  chains: readonly (readonly Fact[])[],
  habit: Habit,
  famousShare: number,
): Step[][] {
  const draw = dice.next();
  const trustsFame = dice.chance(famousShare);
  const all = draw < habit.recallsAll;
  const last = draw < habit.recallsAll + habit.recallsLast;
  return chains.map((chain, c) =>
    chain.map((fact, depth) => {
      const isLast = chains.length > 1 ? c === chains.length - 1 : depth === chain.length - 1;
      const famous = fact.relation === "country" && kFamousCities.has(fact.entity);
      return { ...fact, recalled: all || (last && isLast) || (famous && trustsFame) };
    }),
  );
}

/** The facts on the way to an answer, and which of them the teacher does not look up. */
export function recalledChains(
  dice: Dice,
  { facts }: DemonstrationWorld,
  { kind, program }: WorldQuestion,
  { byKind, recallsFamous }: Habits,
): Step[][] {
  return decideRecall(dice, trace(facts, program), byKind[kind], recallsFamous);
}

/** What the teacher thinks until its next action. */
export class Thought {
  #text = "";
  #isRemembering = false;

  add(text: string): void {
    this.#text += text;
  }

  say(step: Step): void {
    this.add(`${step.recalled && !this.#isRemembering ? " I remember that" : ""} ${statementOf(step)}`);
    this.#isRemembering = step.recalled;
  }

  /** Ends it; the next one begins. */
  end(): string {
    const text = this.#text;
    this.#text = "";
    this.#isRemembering = false;
    return text;
  }
}

function roundsOf(chains: readonly (readonly Step[])[], mode: QueryMode): Step[][] {
  if (mode === "single") return chains.flat().map((step) => [step]);
  return chains[0]!.map((_, depth) => chains.map((chain) => chain[depth]!));
}

/** What follows from the facts: a remark for comparisons, and the answer. */
export function conclude(chains: readonly (readonly Fact[])[]): { remark: string; answer: string } {
  if (chains.length === 1) return { remark: "", answer: chains[0]!.at(-1)!.value };
  const ends = chains.map((chain) => ({ year: chain.at(-1)!.value, name: chain[0]!.entity }));
  const first = ends.reduce((a, b) => (b.year < a.year ? b : a));
  // Each name follows its year, so that the right name is the one that followed the right year before.
  const list = ends.map(({ year, name }) => `${year} ${name}`).join(", ");
  return { remark: ` Of ${list} the first is ${first.year} ${first.name}.`, answer: first.name };
}

// Other searches find other passages beside the right one, and rank them less surely: the reader must go by names.
function find(
  dice: Dice,
  { facts, library }: DemonstrationWorld,
  query: string,
  topK: number,
): WorldPassage[] {
  const [best, ...others] = library.search(query, topK);
  if (best === undefined) return [];
  const kind = Object.values(facts.cast).find((names) => names.includes(best.title))!;
  const rivals = others.map((other) => (dice.chance(0.7) ? library.about(dice.pick(kind))! : other));
  const hits = [best, ...rivals.filter((rival) => rival.id !== best.id)];
  return dice.chance(0.9) ? hits : dice.sample(hits, hits.length);
}

/** How the teacher works. */
interface DemonstrateOptions {
  readonly mode: QueryMode;
  /** Passages per query. */
  readonly topK: number;
  readonly habits: Habits;
  /** Searches as `patchySearch` does. @default false */
  readonly patchy?: boolean;
  /** Shows other passages beside the right one than the library would, and in other orders. @default true */
  readonly varied?: boolean;
  /** @default RAG-R1's */
  readonly speech?: Speech;
}

/** What the teacher knows, and where it looks things up. */
export interface DemonstrationWorld {
  readonly facts: Facts;
  readonly library: Library;
}

/** Writes the whole demonstration for one question. */
export function demonstrate(
  dice: Dice,
  world: DemonstrationWorld,
  asked: WorldQuestion,
  options: DemonstrateOptions,
): DemonstrationSegment[] {
  const { mode, topK, habits, varied = true, patchy = false, speech = ragSpeech } = options;
  const chains = recalledChains(dice, world, asked, habits);
  const segments: DemonstrationSegment[] = [{ kind: "prompt", text: speech.prompt(asked.question, mode) }];
  const thought = new Thought();
  /** Searches, and returns what was not found. */
  const search = (wanted: readonly Step[], wording: (fact: Fact) => string): Step[] => {
    const queries = wanted.map(wording);
    const isMissed = queries.map((query) => patchy && !isUnderstood(query));
    segments.push({ kind: "policy", text: speech.search(`${thought.end()} I will search.`, queries) });
    const look = (query: string) =>
      varied ? find(dice, world, query, topK) : world.library.search(query, topK);
    const hits = queries.map((query, i) => (isMissed[i] ? [] : look(query)));
    segments.push({ kind: "observation", text: speech.observation(queries, hits, mode) });
    return wanted.filter((_, i) => isMissed[i]);
  };
  for (const round of roundsOf(chains, mode)) {
    const wanted = round.filter((step) => !step.recalled);
    const missed = wanted.length > 0 ? search(wanted, queryFor) : [];
    for (const step of round) {
      if (missed.includes(step)) thought.add(` ${notFound(step)}`);
      else thought.say(step);
    }
    const rewords = missed.length > 0 && dice.chance(habits.rewords ?? 0);
    if (rewords) search(missed, formalQueryFor);
    for (const step of missed) thought.say({ ...step, recalled: !rewords });
  }
  const { remark, answer } = conclude(chains);
  segments.push({ kind: "policy", text: speech.answer(`${thought.end()}${remark}`, answer) });
  return segments;
}
