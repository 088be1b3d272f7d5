/** Folders from before they recorded how their texts are cut are searched as they were built. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { mergeIndexes } from "../../../lib/search/index-folder/change/merge.ts";
import { IndexExplainer } from "../../../lib/search/index-folder/explain/explain.ts";
import { indexDigest } from "../../../lib/search/index-folder/info.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { projectRoot } from "../../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-first-rules-"));
after(() => rm(folder, { recursive: true }));
const golden = join(projectRoot, "test/golden/search/first-index");

/** Found by the program that built the folder. */
const { digest, hits } = JSON.parse(readFileSync(`${golden}.json`, "utf8")) as {
  readonly digest: string;
  readonly hits: Readonly<Record<string, readonly (readonly [string, number])[]>>;
};

async function copied(name: string): Promise<string> {
  const copy = join(folder, name);
  await cp(golden, copy, { recursive: true });
  return copy;
}

async function foundIn(index: string, queries: readonly string[]) {
  const search = await openIndex(index);
  const found = await search(queries, { topK: 5 });
  search.close();
  return found.map((own) => own.map(({ id, score }) => [id, score]));
}

test("an old folder gives the hits and scores that it gave, and has the digest that it had", async () => {
  const old = await copied("old");
  assert.equal(await indexDigest(old), digest);
  assert.deepEqual(await foundIn(old, Object.keys(hits)), Object.values(hits));
  const explainer = await IndexExplainer.open(old);
  for (const [query, own] of Object.entries(hits))
    for (const [i, { words }] of (await explainer.explain(query)).entries())
      assert.ok(Math.abs((words?.score ?? 0) - (own[i]?.[1] ?? 0)) < 1e-5, query);
  explainer.close();
});

test("passages that are added to an old folder are cut by its rules, and new folders do not join it", async () => {
  const old = await copied("grown");
  await addToIndex(old, [{ id: "more", title: "दूत", text: "दूत संदेश ले जाता है।" }]);
  assert.deepEqual((await foundIn(old, ["दीन"]))[0]?.map(([id]) => id).toSorted(), ["2", "3"]);
  // Without its vowel signs the word is that of the title, as all words of the folder are.
  assert.equal((await foundIn(old, ["दोत"]))[0]?.[0]?.[0], "more");
  const other = join(folder, "new");
  await buildIndex({ corpus: [{ id: "x", title: "", text: "new" }], out: other, dense: false });
  await assert.rejects(mergeIndexes([old, other], join(folder, "both")), {
    code: "ERR_ARGUMENT",
    message: /expected the settings and the embedder of/,
  });
});

test("an old folder's hashed embedder embeds queries by the words that it was fitted with", async () => {
  const [first, later] = ["hashed-first", "hashed-later"].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  const corpus = ["दिन", "दान", "दीन", "cat", "dog"].map((text, i) => ({ id: String(i), title: "", text }));
  for (const out of [first, later]) await buildIndex({ corpus, out, bm25: false, dense: { dim: 64 } });
  const path = join(first, "manifest.json");
  const manifest = JSON.parse(await readFile(path, "utf8"));
  delete manifest.settings.analyser;
  await writeFile(path, JSON.stringify(manifest));
  // By the first rules these are one word, which no passage of this index has.
  const [old = [], now = []] = [await foundIn(first, ["दिन"]), await foundIn(later, ["दिन"])].map(
    ([own]) => own,
  );
  assert.equal(now[0]?.[0], "0");
  assert.ok(Number(now[0]?.[1]) > 0.9 && Number(old[0]?.[1]) < 0.5);
});

test("a folder says how its texts are cut, and refuses a language that there is not", async () => {
  const out = join(folder, "german");
  const corpus = [{ id: "x", title: "", text: "Die Häuser" }];
  const { settings } = await buildIndex({ corpus, out, dense: false, language: "de" });
  assert.deepEqual(settings.analyser, { rules: 2, language: "de" });
  assert.equal((await foundIn(out, ["das Haus"]))[0]?.length, 1);
  await assert.rejects(buildIndex({ corpus, out, language: "xx" as "de" }), {
    code: "ERR_ARGUMENT",
    message: /language: expected/,
  });
});
