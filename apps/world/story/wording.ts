/** How the teacher words things: the query that asks for a fact and the sentence that states it. */
import type { Relation } from "./facts.ts";

/** One fact of a world. */
export interface Fact {
  readonly entity: string;
  readonly relation: Relation;
  readonly value: string;
}

// A query begins with a word, never with a name: a name's one piece includes the space before it.
const kQueries: Readonly<Record<Relation, (entity: string) => string>> = {
  birthCity: (e) => `where was ${e} born`,
  birthYear: (e) => `when was ${e} born`,
  employer: (e) => `where does ${e} work`,
  creator: (e) => `who directed ${e}`,
  releaseYear: (e) => `when was ${e} released`,
  founder: (e) => `who founded ${e}`,
  base: (e) => `where is ${e} based`,
  country: (e) => `what country is ${e} in`,
};

const kFormalQueries: Readonly<Record<Relation, (entity: string) => string>> = {
  birthCity: (e) => `in which city was ${e} born`,
  birthYear: (e) => `in which year was ${e} born`,
  employer: (e) => `for which company does ${e} work`,
  creator: (e) => `who was the director of ${e}`,
  releaseYear: (e) => `in which year was ${e} released`,
  founder: (e) => `who was the founder of ${e}`,
  base: (e) => `in which city is ${e} based`,
  country: (e) => `in which country is ${e}`,
};

const kVerbs: Readonly<Record<Relation, string>> = {
  birthCity: "was born in",
  birthYear: "was born in",
  employer: "does work for",
  creator: "was directed by",
  releaseYear: "was released in",
  founder: "was founded by",
  base: "is based in",
  country: "is in",
};

/** The search query that asks for a fact. */
export function queryFor({ entity, relation }: Fact): string {
  return kQueries[relation](entity);
}

/** The same in other words. */
export function formalQueryFor({ entity, relation }: Fact): string {
  return kFormalQueries[relation](entity);
}

/** The sentence that says that a search has not found a fact. */
export function notFound({ entity }: Pick<Fact, "entity">): string {
  return `${entity} was not found.`;
}

/** The sentence that states a fact. */
export function statementOf({ entity, relation, value }: Fact): string {
  return `${entity} ${kVerbs[relation]} ${value}.`;
}
