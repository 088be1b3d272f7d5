/** Search by words alone in many languages: a set of questions in each, and the forms of letters that must not matter. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import type { Language } from "../../../lib/text/analysis/languages.ts";
import { projectRoot } from "../../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-languages-"));
after(() => rm(folder, { recursive: true }));

interface Passage {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

let numBuilt = 0;

/** The ids of what each query finds, in an index of the passages by words. */
async function found(
  passages: readonly Passage[],
  queries: readonly string[],
  language: Language = "auto",
): Promise<string[][]> {
  const out = join(folder, `index-${numBuilt++}`);
  await buildIndex({ corpus: passages, out, dense: false, language });
  const search = await openIndex(out);
  const hits = await search(queries, { topK: 5 });
  search.close();
  return hits.map((own) => own.map(({ id }) => id));
}

// Written by hand for this test: twelve passages and six questions, each with the number of its passage before it.
const sets = JSON.parse(
  readFileSync(join(projectRoot, "test/golden/search/languages.json"), "utf8"),
) as Readonly<Record<Language, { readonly passages: string[]; readonly questions: string[] }>>;

const passagesIn = (language: Language): Passage[] =>
  sets[language].passages.map((line, i) => {
    const [title = "", text = ""] = line.split("|");
    return { id: `${language}${i + 1}`, title, text };
  });
const everyPassage = (Object.keys(sets) as Language[]).flatMap(passagesIn);

for (const [language, { questions }] of Object.entries(sets) as [Language, { questions: string[] }][]) {
  for (const told of ["auto", language] as const)
    test(`questions in ${language} find their passages among 13 languages, language ${told}`, async () => {
      const asked = questions.map((line) => line.split("|") as [string, string]);
      const ids = await found(
        everyPassage,
        asked.map(([, query]) => query),
        told,
      );
      const ranks = asked.map(([number], q) => (ids[q] ?? []).indexOf(`${language}${number}`) + 1);
      const share = (depth: number): number =>
        ranks.filter((rank) => rank > 0 && rank <= depth).length / ranks.length;
      assert.ok(share(5) >= 0.9, `recall@5 ${share(5)}, ranks ${ranks}`);
      if (told !== "auto") assert.ok(share(1) >= 0.8, `recall@1 ${share(1)}, ranks ${ranks}`);
    });
}

const works: readonly Passage[] = [
  { id: "who", title: "The Who", text: "The Who are an English rock band of Pete Townshend." },
  { id: "can", title: "Can (band)", text: "Can was a German rock band of Cologne." },
  { id: "it", title: "It (novel)", text: "It is a novel of Stephen King about a clown." },
  { id: "be", title: "To be, or not to be", text: "The soliloquy of Hamlet in the third act." },
  { id: "band", title: "Band", text: "A rock band has some who sing and some who can play." },
  { id: "ils", title: "Eux", text: "Film français de 2006." },
];

test("queries of stop words alone find the titles that have them", async () => {
  const ids = await found(works, ["The Who", "Can", "It", "To be or not to be", "who", "THE"]);
  assert.deepEqual(
    ids.map(([first]) => first),
    ["who", "can", "it", "be", "who", "who"],
  );
  assert.deepEqual(await found(works, ["eux"], "fr"), [["ils"]]);
  assert.deepEqual(await found(works, ["of", "zzz the"]), [[], []]);
});

test("a title of stop words is found beside other words, where the query has the whole of it", async () => {
  const many = Array.from({ length: 12 }, (_, i) => ({
    ...{ id: `band${i}`, title: `Band ${i}`, text: "A rock band with songs, a band of the seventies." },
  }));
  const corpus = [...works, ...many, { id: "is-it", title: "Is It", text: "A song." }];
  const queries = ["the who band", "songs by the Who", "band of The Who?", "the band who", "what is it band"];
  const ids = await found(corpus, queries);
  const firsts = ids.map(([first]) => first);
  assert.deepEqual(firsts.slice(0, 3), ["who", "who", "who"]);
  assert.ok(firsts[3] !== "who" && firsts[4] === "is-it");
});

test("stop words of titles change no hit and no score of other queries", async () => {
  const bare = works.map(({ title, ...rest }) => ({
    ...rest,
    title: title
      .split(/[ ,]+/)
      .filter((word) => !/^(?:the|who|can|it|to|be|or)$/i.test(word))
      .join(" "),
  }));
  const queries = [
    "the rock band",
    "who is in the German band",
    "Who are Pete Townshend",
    "a novel",
    "Hamlet",
  ];
  const hitsOf = async (corpus: readonly Passage[], name: string) => {
    const out = join(folder, name);
    await buildIndex({ corpus, out, dense: false });
    const search = await openIndex(out);
    const hits = await search(queries, { topK: 5 });
    search.close();
    return hits.map((own) => own.map(({ id, score }) => [id, score]));
  };
  assert.deepEqual(await hitsOf(works, "titles"), await hitsOf(bare, "bare"));
});

test("Hebrew words are found with and without what is joined to their front", async () => {
  const texts = [
    ...["ראיתי את הכלב בגינה", "הם נסעו לירושלים", "היא לומדת במכללה", "השמש זרחה אתמול"],
    ...["ומלכה ישבה על כיסא", "כשהילדים חזרו הביתה", "שאל מהספרייה רומן", "תמונות שבמוזיאון"],
  ];
  const corpus = texts.map((text, i) => ({ id: String(i), title: "", text }));
  const words = ["כלב", "ירושלים", "מכללה", "שמש", "מלכה", "ילדים", "ספרייה", "מוזיאון"];
  const prefixed = ["לכלב", "מירושלים", "והמכללה", "בשמש", "שהמלכה", "הילדים", "בספרייה", "למוזיאון"];
  const ids = await found(corpus, [...words, ...prefixed]);
  assert.deepEqual(
    ids.map(([first]) => first),
    [...texts.keys(), ...texts.keys()].map(String),
  );
});

test("one letter is found within a run, and a run before another that has its letters apart", async () => {
  const texts = ["猫は一日中寝ている", "山と川", "川山", "책을 읽는다", "ปูอยู่ในทะเล"];
  const corpus = texts.map((text, i) => ({ id: String(i), title: "", text }));
  const ids = await found(corpus, ["猫", "川山", "책", "ปู", "川"]);
  assert.deepEqual(
    ids.map(([first]) => first),
    ["0", "2", "3", "4", "2"],
  );
});
