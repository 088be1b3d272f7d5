/** The names of the built-in world: five disjoint pools, every name one word, hence one token. */
import { Dice } from "../../../lib/base/random.ts";

/** The kinds of things the world holds. */
export type Kind = "person" | "city" | "country" | "company" | "work";

interface Scheme {
  readonly count: number;
  readonly heads: readonly string[];
  readonly middles: readonly string[];
  readonly tails: readonly string[];
}

const split = (words: string): string[] => words.split(" ");
const kNone = [""];

const kSchemes: Readonly<Record<Kind, Scheme>> = {
  person: {
    count: 320,
    heads: split(
      "Al Bar Cor Dav El Fen Gar Hal Is Jor Kel Lor Mar Nor Or Per Quin Ros Sel Tav Ul Var Wen Yor Zan",
    ),
    middles: split("a e i o u ia eo"),
    tails: split("ric len dra vin mos tha ric nel bert kin sian wyn"),
  },
  city: {
    count: 120,
    heads: split(
      "Ash Brack Cald Dun Elm Fal Glen Har Iver Kings Lyn Mill Nether Oak Port Raven Stan Thorn Wex Yarn",
    ),
    middles: kNone,
    tails: split("ford holm bury mouth stead wick dale haven gate minster"),
  },
  country: {
    count: 20,
    heads: split("Ald Bel Cath Dor Est Gal Hesp Iss Jun Kor Lar Mont Nev Ost"),
    middles: split("o e a"),
    tails: split("nia ria land via"),
  },
  company: {
    count: 80,
    heads: split("Acro Bio Cryo Data Ever Flux Grano Hydro Inno Jet Kine Lumi Meta Nano Omni Poly"),
    middles: kNone,
    tails: split("tech works corp soft lines labs dyne motors"),
  },
  work: {
    count: 160,
    heads: split(
      "Amber Broken Crimson Distant Empty Frozen Golden Hollow Iron Jade Last Moon Night Pale Silent Winter",
    ),
    middles: kNone,
    tails: split(
      "river garden mirror letter harbor crown winter shadow bridge summer forest island window lantern road",
    ),
  },
};

function build(kind: Kind, salt: number): string[] {
  const { count, heads, middles, tails } = kSchemes[kind];
  const all = heads.flatMap((head) => middles.flatMap((middle) => tails.map((tail) => head + middle + tail)));
  return new Dice(20240717, salt).sample([...new Set(all)], count);
}

/** Every name there is, by kind; fixed for ever, because the tokenizer has one piece for each. */
export const kNames: Readonly<Record<Kind, readonly string[]>> = {
  person: build("person", 1),
  city: build("city", 2),
  country: build("country", 3),
  company: build("company", 4),
  work: build("work", 5),
};

/** Cities whose country is the same in every world, so that a model can know it by heart. */
export const kFamousCities: ReadonlyMap<string, string> = new Map(
  kNames.city.slice(0, 24).map((city, i) => [city, kNames.country[(i * 7) % kNames.country.length]!]),
);

/** The years in which people are born and works appear. */
export const kYears: readonly string[] = Array.from({ length: 40 }, (_, i) => String(1930 + i));
