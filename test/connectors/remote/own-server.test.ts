/** The clients against SeekRL's own server: what a remote search finds is what the index behind it finds. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { serveRetriever } from "../../../apps/serve/retriever/retriever-server.ts";
import { remoteSearch } from "../../../connectors/remote/remote-search.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { peoplePassages } from "../../search/people.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
const passages = peoplePassages(60);
await buildIndex({ corpus: passages, out: folder });
const index = await openIndex(folder);
const server = await serveRetriever({ search: index, port: 0 });
after(async () => {
  await server.close();
  index.close();
  await rm(folder, { recursive: true });
});
const queries = passages.slice(0, 9).map(({ title }) => `where was ${title} born?`);

for (const protocol of ["retrieve", "batch_search", "search", "queries"] as const) {
  test(`${protocol} finds what the index finds`, async () => {
    const found = await remoteSearch({ url: server.url, protocol, maxQueries: 4 })(queries, { topK: 5 });
    const wanted = await index(queries, { topK: 5 });
    const passage = protocol === "queries" ? ["title", "text"] : ["id", "title", "text"];
    const shown = (hits: typeof found) =>
      hits.map((list) => list.map((hit) => passage.map((name) => hit[name as "id"])));
    assert.deepEqual(shown(found), shown(wanted));
    // R1-Searcher's protocol has neither ids nor scores.
    if (protocol === "queries") return;
    for (const [i, hit] of found.flat().entries()) {
      assert.ok(Math.abs(hit.score - (wanted.flat()[i]?.score ?? 0)) < 1e-6);
    }
  });
}

test("what the server refuses is said in its words and not asked again", async () => {
  const search = remoteSearch({ url: server.url });
  await assert.rejects(search(["q"], { topK: 1_000_000_000 }), {
    code: "ERR_REMOTE",
    message: /expected status 200, got 4\d\d: \{.*topk/,
  });
});
