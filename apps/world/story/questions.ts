/** Questions about a world: chains of relations, and comparisons of two or three things by year. */

import type { Dice } from "../../../lib/base/random.ts";
import type { Question } from "../../../lib/data/question.ts";
import { type Facts, follow, type Relation } from "./facts.ts";
import { type Kind, kFamousCities } from "./names.ts";

/** What a question asks, in a form a program can follow. */
export interface Program {
  readonly shape: "chain" | "earliest";
  /** One start for a chain, two or three for a comparison. */
  readonly starts: readonly string[];
  readonly path: readonly Relation[];
}

/** A question with its answers and the program that leads there. */
export interface WorldQuestion extends Question {
  readonly kind: QuestionKind;
  readonly program: Program;
}

/** The kinds of question, by what it takes to answer them. */
export type QuestionKind = "one-hop" | "famous" | "bridge" | "compare" | "compare-three" | "bridge-compare";

interface Pattern {
  readonly from: Kind;
  readonly path: readonly Relation[];
  readonly texts: readonly ((...names: string[]) => string)[];
}

const kCountry: Pattern = {
  from: "city",
  path: ["country"],
  texts: [(a) => `In which country is ${a}?`, (a) => `What country is ${a} in?`],
};
const kOneHop: readonly Pattern[] = [
  {
    from: "person",
    path: ["birthCity"],
    texts: [(a) => `Where was ${a} born?`, (a) => `In which city was ${a} born?`],
  },
  {
    from: "person",
    path: ["birthYear"],
    texts: [(a) => `When was ${a} born?`, (a) => `In which year was ${a} born?`],
  },
  {
    from: "person",
    path: ["employer"],
    texts: [(a) => `Where does ${a} work?`, (a) => `For which company does ${a} work?`],
  },
  {
    from: "work",
    path: ["creator"],
    texts: [(a) => `Who directed ${a}?`, (a) => `Who was the director of ${a}?`],
  },
  { from: "work", path: ["releaseYear"], texts: [(a) => `When was ${a} released?`] },
  {
    from: "company",
    path: ["founder"],
    texts: [(a) => `Who founded ${a}?`, (a) => `Who was the founder of ${a}?`],
  },
  {
    from: "company",
    path: ["base"],
    texts: [(a) => `Where is ${a} based?`, (a) => `In which city is ${a} based?`],
  },
  kCountry,
];
const kBridge: readonly Pattern[] = [
  { from: "work", path: ["creator", "birthCity"], texts: [(a) => `Where was the director of ${a} born?`] },
  { from: "work", path: ["creator", "birthYear"], texts: [(a) => `When was the director of ${a} born?`] },
  { from: "work", path: ["creator", "employer"], texts: [(a) => `Where does the director of ${a} work?`] },
  { from: "company", path: ["founder", "birthCity"], texts: [(a) => `Where was the founder of ${a} born?`] },
  { from: "company", path: ["founder", "birthYear"], texts: [(a) => `When was the founder of ${a} born?`] },
  { from: "company", path: ["base", "country"], texts: [(a) => `In which country is ${a} based?`] },
  { from: "person", path: ["birthCity", "country"], texts: [(a) => `In which country was ${a} born?`] },
  { from: "person", path: ["employer", "base"], texts: [(a) => `Where is the company of ${a} based?`] },
];
const kCompare: readonly Pattern[] = [
  {
    from: "person",
    path: ["birthYear"],
    texts: [(a, b) => `Who was born first, ${a} or ${b}?`, (a, b) => `Who is older, ${a} or ${b}?`],
  },
  { from: "work", path: ["releaseYear"], texts: [(a, b) => `Which film was released first, ${a} or ${b}?`] },
];
const kCompareThree: readonly Pattern[] = [
  { from: "person", path: ["birthYear"], texts: [(a, b, c) => `Who was born first, ${a}, ${b} or ${c}?`] },
  {
    from: "work",
    path: ["releaseYear"],
    texts: [(a, b, c) => `Which film was released first, ${a}, ${b} or ${c}?`],
  },
];
const kBridgeCompare: readonly Pattern[] = [
  {
    from: "work",
    path: ["creator", "birthYear"],
    texts: [(a, b) => `Which film has the older director, ${a} or ${b}?`],
  },
  {
    from: "company",
    path: ["founder", "birthYear"],
    texts: [(a, b) => `Which company has the older founder, ${a} or ${b}?`],
  },
];

interface Family {
  readonly share: number;
  readonly patterns: readonly Pattern[];
  readonly arity: number;
}

/** The mixture of kinds, one share each. */
const kFamilies: Readonly<Record<QuestionKind, Family>> = {
  "one-hop": { share: 0.16, patterns: kOneHop, arity: 1 },
  famous: { share: 0.08, patterns: [kCountry], arity: 1 },
  bridge: { share: 0.28, patterns: kBridge, arity: 1 },
  compare: { share: 0.16, patterns: kCompare, arity: 2 },
  "compare-three": { share: 0.18, patterns: kCompareThree, arity: 3 },
  "bridge-compare": { share: 0.14, patterns: kBridgeCompare, arity: 2 },
};

const kShares = Object.fromEntries(
  Object.entries(kFamilies).map(([kind, family]) => [kind, family.share]),
) as Record<QuestionKind, number>;

function answerOf(facts: Facts, { shape, starts, path }: Program): string | undefined {
  const ends = starts.map((start) => follow(facts, start, path));
  if (shape === "chain") return ends[0];
  const first = ends.toSorted()[0]!;
  return ends.filter((end) => end === first).length === 1 ? starts[ends.indexOf(first)] : undefined;
}

/** Asks one random question; tied comparisons are drawn again. */
export function askQuestion(dice: Dice, facts: Facts, id: string): WorldQuestion {
  for (;;) {
    const kind = dice.weighted(kShares);
    const { patterns, arity } = kFamilies[kind];
    const { from, path, texts } = dice.pick(patterns);
    const famous = facts.cast.city.filter((city) => kFamousCities.has(city));
    const pool = kind === "famous" && famous.length > 0 ? famous : facts.cast[from];
    const starts = dice.sample(pool, arity);
    const program: Program = { shape: arity === 1 ? "chain" : "earliest", starts, path };
    const answer = answerOf(facts, program);
    if (answer !== undefined)
      return { id, question: dice.pick(texts)(...starts), answers: [answer], kind, program };
  }
}

/** Asks `count` questions, no two with the same words. */
export function askQuestions(dice: Dice, facts: Facts, count: number, idPrefix: string): WorldQuestion[] {
  const seen = new Set<string>();
  const questions: WorldQuestion[] = [];
  for (let tries = 0; questions.length < count && tries < count * 50; tries++) {
    const question = askQuestion(dice, facts, `${idPrefix}${questions.length}`);
    if (seen.has(question.question)) continue;
    seen.add(question.question);
    questions.push(question);
  }
  return questions;
}
