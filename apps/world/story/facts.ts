/** The facts of one world: who was born where and when, who made what, what lies where. */

import type { Dice } from "../../../lib/base/random.ts";
import { type Kind, kFamousCities, kNames, kYears } from "./names.ts";

/** A relation from one entity to another entity or to a year. */
export type Relation =
  | "birthCity"
  | "birthYear"
  | "employer"
  | "creator"
  | "releaseYear"
  | "founder"
  | "base"
  | "country";

/** The names a world may use, by kind. */
export type Cast = Readonly<Record<Kind, readonly string[]>>;

/** How many names of each kind a world has. */
export type Census = Readonly<Record<Kind, number>>;

/** One world: for each kind its names, for each entity its facts. */
export interface Facts {
  readonly cast: Cast;
  readonly of: ReadonlyMap<string, ReadonlyMap<Relation, string>>;
}

/** Which relations an entity of each kind has, and what kind of thing each leads to. */
const kRelations: Readonly<Record<Kind, Readonly<Partial<Record<Relation, Kind | "year">>>>> = {
  person: { birthYear: "year", birthCity: "city", employer: "company" },
  work: { creator: "person", releaseYear: "year" },
  company: { founder: "person", base: "city" },
  city: { country: "country" },
  country: {},
};

/** Draws a cast from all names, or from those of `from`. */
export function drawCast(dice: Dice, census: Census, from: Cast = kNames): Cast {
  const draw = (kind: Kind): string[] => dice.sample(from[kind], census[kind]);
  return {
    person: draw("person"),
    city: draw("city"),
    country: draw("country"),
    company: draw("company"),
    work: draw("work"),
  };
}

/** Invents the facts of a world with this cast; famous cities stay in their country. */
export function inventFacts(dice: Dice, cast: Cast): Facts {
  const of = new Map<string, Map<Relation, string>>();
  for (const kind of Object.keys(kRelations) as Kind[]) {
    const targets = Object.entries(kRelations[kind]) as [Relation, Kind | "year"][];
    for (const name of cast[kind]) {
      const facts = new Map<Relation, string>();
      for (const [relation, target] of targets) {
        const value = dice.pick(target === "year" ? kYears : cast[target]);
        facts.set(relation, (relation === "country" && kFamousCities.get(name)) || value);
      }
      of.set(name, facts);
    }
  }
  return { cast, of };
}

/** @returns what `relation` leads to from `entity`. */
export function lookUp(facts: Facts, entity: string, relation: Relation): string {
  return facts.of.get(entity)!.get(relation)!;
}

/** @returns what a chain of relations leads to from `entity`. */
export function follow(facts: Facts, entity: string, path: readonly Relation[]): string {
  return path.reduce((at, relation) => lookUp(facts, at, relation), entity);
}
