/** Which passages an answer stands in. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { citationsOf } from "../../../apps/serve/agent/citations.ts";

const passages = [
  {
    id: "1",
    title: "Paris",
    text: "Paris is a city. It has been the capital of France since 987, some say.",
  },
  { id: "2", title: "France", text: "France is a country. Its capital is Paris." },
  { id: "3", title: "Seine", text: "The Seine flows through Paris. It is 777 km long." },
  {
    id: "4",
    title: "Ironroad",
    text: "Directed by Ada Ames, the film Ironroad was released in 1931. Critics liked it.",
  },
];

function cited(answer: string, question: string): string[] {
  return citationsOf(answer, passages, [question]).map(
    ({ passage, quote, start, end }) => `${answer.slice(start, end)} | ${passage.id} | ${quote}`,
  );
}

test("a whole answer is cited with the sentences that hold it and say most of what was asked", () => {
  assert.deepEqual(cited("Ada Ames.", "Who directed Ironroad?"), [
    "Ada Ames | 4 | Directed by Ada Ames, the film Ironroad was released in 1931.",
  ]);
  assert.deepEqual(cited("paris", "capital of France?"), ["paris | 2 | Its capital is Paris."]);
});

test("of a longer answer clauses, names and numbers are cited where they stand", () => {
  assert.deepEqual(
    cited("It was made by Ada Ames, and came out in 1931.", "Who directed the film Ironroad, and when?"),
    [
      "Ada Ames | 4 | Directed by Ada Ames, the film Ironroad was released in 1931.",
      "1931 | 4 | Directed by Ada Ames, the film Ironroad was released in 1931.",
    ],
  );
});

test("what stands in no passage, in words that are only parts, or in no sentence about it is not cited", () => {
  assert.deepEqual(cited("Rome", "capital of Italy?"), []);
  assert.deepEqual(cited("Pari", "capital of France?"), []);
  assert.deepEqual(cited("77", "how long is the Seine?"), []);
  assert.deepEqual(cited("Critics", "capital of Peru?"), []);
});

test("judgements and small words are not cited, whatever holds them", () => {
  const all = [...passages, { id: "5", title: "Paris", text: "Is Paris the capital? Yes, it is. No." }];
  for (const answer of ["yes", "No.", "the", ""])
    assert.deepEqual(citationsOf(answer, all, ["Is Paris the capital?"]), []);
});

test("accents, case and scripts without spaces are compared as searches compare them", () => {
  const found = [
    { id: "a", title: "Goethe", text: "Er schrieb das Werk Götz von Berlichingen." },
    { id: "b", title: "日本", text: "日本の首都は東京です。" },
  ];
  assert.equal(citationsOf("gotz von berlichingen", found, ["Welches Werk von Goethe?"])[0]?.passage.id, "a");
  assert.equal(citationsOf("東京", found, ["日本の首都"])[0]?.quote, "日本の首都は東京です。");
});
