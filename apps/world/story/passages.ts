/** The corpus of a world: short encyclopedia passages that state its facts in varied wording. */

import type { Dice } from "../../../lib/base/random.ts";
import type { Facts, Relation } from "./facts.ts";

/** One passage of the corpus. */
export interface WorldPassage {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

type Template = (name: string, value: (relation: Relation) => string) => string;

// No sentence begins with a name: a name's one piece includes the space before it.
const kPerson: readonly Template[] = [
  (n, v) =>
    `In ${v("birthYear")} the artist ${n} was born in ${v("birthCity")}, later to work for ${v("employer")}.`,
  (n, v) =>
    `The painter ${n}, born in ${v("birthCity")} in ${v("birthYear")}, does work for ${v("employer")}.`,
  (n, v) => `At ${v("employer")} does work the writer ${n}, born in ${v("birthYear")} in ${v("birthCity")}.`,
];
const kWork: readonly Template[] = [
  (n, v) => `The film ${n} was directed by ${v("creator")} and released in ${v("releaseYear")}.`,
  (n, v) => `In ${v("releaseYear")} the film ${n}, directed by ${v("creator")}, was released.`,
  (n, v) => `Directed by ${v("creator")}, the film ${n} was released in ${v("releaseYear")}.`,
];
const kCompany: readonly Template[] = [
  (n, v) => `The company ${n} was founded by ${v("founder")} and is based in ${v("base")}.`,
  (n, v) => `Based in ${v("base")}, the company ${n} was founded by ${v("founder")}.`,
  (n, v) => `Since ${v("founder")} founded ${n}, the company is based in ${v("base")}.`,
];
const kCity: readonly Template[] = [
  (n, v) => `The city ${n} is in the country ${v("country")}.`,
  (n, v) => `In the country ${v("country")} lies the city ${n}.`,
  (n, v) => `A city of the country ${v("country")}, ${n} has a port.`,
];
const kAsides = [
  "",
  "",
  "",
  " Critics liked it.",
  " Little else is known.",
  " The records were lost.",
  " It is quiet there.",
];

/** Writes the corpus of a world, in a fixed order: one passage for everything but countries. */
export function writePassages(dice: Dice, facts: Facts, idPrefix = ""): WorldPassage[] {
  const passages: WorldPassage[] = [];
  const write = (title: string, templates: readonly Template[]): void => {
    const value = (relation: Relation): string => facts.of.get(title)!.get(relation)!;
    const text = dice.pick(templates)(title, value) + dice.pick(kAsides);
    passages.push({ id: `${idPrefix}${passages.length}`, title, text });
  };
  for (const name of facts.cast.person) write(name, kPerson);
  for (const name of facts.cast.work) write(name, kWork);
  for (const name of facts.cast.company) write(name, kCompany);
  for (const name of facts.cast.city) write(name, kCity);
  return passages;
}
