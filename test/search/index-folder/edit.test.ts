/** Passages are added to an index and removed from it while others search. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Passage } from "../../../lib/search/corpus/passage.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex, removeFromIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { changeFolder } from "../../../lib/search/index-folder/change.ts";
import { indexInfo } from "../../../lib/search/index-folder/info.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { peoplePassages } from "../people.ts";

const root = await mkdtemp(join(tmpdir(), "seekrl-edit-"));
after(() => rm(root, { recursive: true }));
const passages = peoplePassages(600);
const [first, second] = [passages.slice(0, 400), passages.slice(400)] as const;
const modes = ["bm25", "dense", "hybrid"] as const;

/** An index of the first 400 passages, in a folder of its own. */
async function firstIndex(name: string): Promise<string> {
  const out = join(root, name);
  await buildIndex({ corpus: first, out });
  return out;
}

/** The ids that each query finds. */
async function found(
  folder: string,
  queries: readonly string[],
  { mode, topK = 5 }: { mode?: (typeof modes)[number]; topK?: number } = {},
): Promise<string[][]> {
  const search = await openIndex(folder, mode ? { mode } : {});
  const hits = await search(queries, { topK });
  search.close();
  return hits.map((list) => list.map(({ id }) => id));
}

const namesOf = (list: readonly Passage[]): string[] => list.map(({ title }) => title);
const firstOf = (lists: readonly string[][]): (string | undefined)[] => lists.map(([id]) => id);

test("what was added is found, and what was there before still is", async () => {
  const folder = await firstIndex("added");
  const before = await openIndex(folder);
  await addToIndex(folder, second);
  const asked = passages.filter((_, i) => i % 7 === 0);
  for (const mode of modes) {
    const lists = await found(folder, namesOf(asked), { mode });
    assert.deepEqual(
      firstOf(lists),
      asked.map(({ id }) => id),
      mode,
    );
  }
  const [old] = await before([second[0]?.title ?? ""], { topK: 5 });
  before.close();
  assert.ok(
    old?.every(({ id }) => first.some((passage) => passage.id === id)),
    "an open index does not change",
  );
  const { passages: count, segments, problems } = await indexInfo(folder, { verify: "all" });
  assert.deepEqual([count, segments.length, problems], [600, 2, []]);
});

test("what was removed is never found, in any mode, however much is asked for", async () => {
  const folder = await firstIndex("removed");
  await addToIndex(folder, second);
  const gone = passages.filter((_, i) => i % 3 !== 0);
  const half = gone.length >> 1;
  const ids = gone.map(({ id }) => id);
  assert.deepEqual(await removeFromIndex(folder, ids.slice(0, half)), { removed: half, missing: [] });
  assert.deepEqual(await removeFromIndex(folder, [...ids.slice(half), "nobody"]), {
    removed: gone.length - half,
    missing: ["nobody"],
  });
  for (const mode of modes) {
    for (const topK of [1, 10, 1000]) {
      const lists = await found(folder, namesOf(gone.slice(0, 40)), { mode, topK });
      assert.deepEqual(
        lists.flat().filter((id) => ids.includes(id)),
        [],
        `${mode}, ${topK}`,
      );
    }
  }
  const live = passages.filter(({ id }) => !ids.includes(id));
  const [all] = await found(folder, [live[0]?.title ?? ""], { mode: "dense", topK: 1000 });
  assert.deepEqual(new Set(all), new Set(live.map(({ id }) => id)));
  const { passages: count, removed } = await indexInfo(folder);
  assert.deepEqual([count, removed], [live.length, gone.length]);
  assert.deepEqual(
    (await readdir(join(folder, "segments", "1"))).filter((name) => name.startsWith("removed")),
    ["removed-2.bin"],
  );
});

test("an id is added again only after its passage was removed", async () => {
  const folder = await firstIndex("again");
  const passage = { id: first[5]?.id ?? "", title: "Someone Else", text: "Someone Else sells umbrellas." };
  await assert.rejects(addToIndex(folder, [passage]), { code: "ERR_ARGUMENT", message: /"p5"/ });
  await removeFromIndex(folder, [passage.id]);
  await addToIndex(folder, [passage]);
  assert.deepEqual(firstOf(await found(folder, ["umbrellas"])), ["p5"]);
  assert.deepEqual(await removeFromIndex(folder, ["p5"]), { removed: 1, missing: [] });
  assert.ok(!(await found(folder, ["umbrellas"])).flat().includes("p5"));
});

test("nothing added and nothing removed leave the index as it is", async () => {
  const folder = await firstIndex("nothing");
  const before = await readFile(join(folder, "manifest.json"));
  await addToIndex(folder, []);
  assert.deepEqual(await removeFromIndex(folder, ["nobody"]), { removed: 0, missing: ["nobody"] });
  assert.deepEqual(await readFile(join(folder, "manifest.json")), before);
  assert.deepEqual(await readdir(join(folder, "segments")), ["1"]);
});

test("one change at a time: another is refused while one is under way, searches are not", async () => {
  const folder = await firstIndex("locked");
  await changeFolder(folder, async () => {
    const refused = { code: "ERR_STATE", message: new RegExp(`locked by process ${process.pid}`) };
    await assert.rejects(addToIndex(folder, second), refused);
    await assert.rejects(removeFromIndex(folder, ["p1"]), refused);
    await assert.rejects(buildIndex({ corpus: second, out: folder }), refused);
    assert.equal((await found(folder, ["anyone"])).length, 1);
    return undefined;
  });
  await removeFromIndex(folder, ["p1"]);
});

test("a damaged list of removed passages is refused, and indexInfo names every damaged file", async () => {
  const folder = await firstIndex("damaged");
  await addToIndex(folder, second);
  await removeFromIndex(folder, ["p1"]);
  const names = ["segments/1/removed-1.bin", "segments/2/vectors.bin"];
  for (const name of names) {
    const bytes = await readFile(join(folder, name));
    bytes[9] = (bytes[9] ?? 0) ^ 1;
    await writeFile(join(folder, name), bytes);
  }
  await assert.rejects(openIndex(folder), { code: "ERR_FORMAT", message: /removed-1\.bin/ });
  const { problems } = await indexInfo(folder);
  assert.deepEqual(
    names.map((name, i) => problems[i]?.includes(name)),
    [true, true],
  );
});

test("a folder that cannot be written is searched all the same", async () => {
  const folder = await firstIndex("read-only");
  // Stands for a file system that refuses: even root cannot replace a folder by a file.
  await rm(join(folder, "checked.json"));
  await mkdir(join(folder, "checked.json"));
  assert.equal((await found(folder, ["anyone"])).length, 1);
});

test("a folder without an index is not changed", async () => {
  const folder = join(root, "nowhere");
  await assert.rejects(addToIndex(folder, second), { code: "ERR_IO", message: /no index/ });
  await assert.rejects(removeFromIndex(folder, ["p1"]), { code: "ERR_IO", message: /no index/ });
  await assert.rejects(readdir(folder), { code: "ENOENT" });
});
