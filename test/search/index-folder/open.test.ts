/** What a search of an index folder may be told, and what is refused because it would be without effect. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { type OpenIndexOptions, openIndex } from "../../../lib/search/index-folder/open.ts";
import { peoplePassages } from "../people.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-open-"));
after(() => rm(folder, { recursive: true }));
const passages = peoplePassages(2000);
const at = (name: string): string => join(folder, name);
for (const dtype of ["bf16", "b1"] as const)
  await buildIndex({ corpus: passages, out: at(dtype), dense: { kind: "exact", dtype, dim: 256 } });

const queries = passages.filter((_, i) => i % 40 === 0).map(({ text }) => text.slice(0, 60));

async function found(name: string, options: OpenIndexOptions): Promise<string[][]> {
  const search = await openIndex(at(name), { mode: "dense", ...options });
  const hits = await search(queries, { topK: 10 });
  search.close();
  return hits.map((each) => each.map(({ id }) => id));
}

test("more candidates of one bit a component find more of the true nearest, and all of them find all", async () => {
  const truth = await found("bf16", {});
  const shareOf = async (overFetch: number | undefined): Promise<number> => {
    const hits = await found("b1", { overFetch });
    const numFound = hits.flatMap((ids, query) => ids.filter((id) => truth[query]?.includes(id))).length;
    return numFound / truth.flat().length;
  };
  const [few, usual, all] = [await shareOf(4), await shareOf(undefined), await shareOf(200)];
  assert.ok(few < usual - 0.05 && all === 1, `${few}, ${usual}, ${all}`);
  assert.equal(await shareOf(20), usual);
});

test("options of vectors are refused where none are searched, and devices that the hashed embedder does not run on", async () => {
  const refusals: [string, OpenIndexOptions, RegExp][] = [
    [
      "bf16",
      { mode: "bm25", vectorsDevice: "cuda" },
      /^vectorsDevice: expected mode dense or hybrid.*got cuda/,
    ],
    ["b1", { mode: "bm25", overFetch: 20 }, /^overFetch: expected mode dense or hybrid.*got 20 with bm25/],
    ["bf16", { mode: "bm25", device: "nonsense" }, /^device: expected mode dense or hybrid/],
    ["bf16", { device: "nonsense" }, /^device: expected cpu, where the hashed embedder runs, got nonsense/],
    ["bf16", { overFetch: 20 }, /^overFetch: expected an index whose vectors are scored again, got bf16/],
  ];
  for (const [name, options, message] of refusals)
    await assert.rejects(openIndex(at(name), options), { code: "ERR_ARGUMENT", message });
  await assert.rejects(openIndex(at("b1"), { overFetch: 0 }), { code: "ERR_RANGE", message: /overFetch/ });
});
