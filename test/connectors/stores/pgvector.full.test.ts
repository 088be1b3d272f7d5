/** Passages in PostgreSQL with pgvector, asked over its wire protocol by the same client as any other server. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import pg from "pg";
import { nearestText, type VectorMetric, vectorText } from "../../../connectors/stores/passage-table.ts";
import { importToPg } from "../../../connectors/stores/pg-import.ts";
import { openPgSearch } from "../../../connectors/stores/pg-search.ts";
import { Postgres } from "../../../connectors/stores/postgres.ts";
import type { Passage } from "../../../lib/search/corpus/passage.ts";
import { indexedText } from "../../../lib/search/corpus/passage.ts";
import { HashedEmbedder } from "../../../lib/search/embed/hashed-embedder.ts";
import { peoplePassages } from "../../search/people.ts";
import { codeBlocks } from "../../site/code-blocks.ts";
import { startPglite } from "./pglite-server.ts";

const passages = peoplePassages(400);
const queries = passages.slice(0, 12).map(({ title }) => `where was ${title} born`);
const embedder = await HashedEmbedder.fit(passages.map(indexedText), { dim: 64 });
const database = await startPglite();
const connection = database.url;
after(() => database[Symbol.asyncDispose]());

async function ask(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connection);
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return rows as Record<string, unknown>[];
}

/** Every vector compared in double precision. */
async function exactScores(metric: VectorMetric): Promise<number[][]> {
  const [rows, asked] = [
    await embedder.embedPassages(passages.map(indexedText)),
    await embedder.embedQueries(queries),
  ];
  const at = (vectors: Float32Array, i: number) => vectors.subarray(i * embedder.dim, (i + 1) * embedder.dim);
  const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);
  const scores = { ip: dot, cos: cosine, l2: (a: Float32Array, b: Float32Array) => -distance(a, b) };
  function cosine(a: Float32Array, b: Float32Array): number {
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  }
  function distance(a: Float32Array, b: Float32Array): number {
    return Math.sqrt(a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0));
  }
  return queries.map((_, q) => passages.map((_, p) => scores[metric](at(rows, p), at(asked, q))));
}

for (const metric of ["cos", "ip", "l2"] as const) {
  test(`the ${metric} hits are those of comparing with every passage`, async () => {
    const table = `by_${metric}`;
    const { passages: count } = await importToPg(passages, { connection, table, embedder, metric });
    assert.equal(count, passages.length);
    await using search = openPgSearch({ connection, table, embedder, metric, efSearch: 1000 });
    const found = await search(queries, { topK: 5 });
    const exact = await exactScores(metric);
    for (const [q, hits] of found.entries()) {
      const best = [...exact[q]!].sort((a, b) => b - a).slice(0, 5);
      assert.equal(hits.length, 5);
      for (const [rank, { id, title, text, score }] of hits.entries()) {
        const number = passages.findIndex((passage) => passage.id === id);
        assert.deepEqual({ id, title, text }, passages[number]);
        assert.ok(Math.abs(score - exact[q]![number]!) < 1e-5, `${score} of ${id}`);
        assert.ok(Math.abs(score - best[rank]!) < 1e-5, `${score} at ${rank}`);
      }
    }
  });
}

test("the planner answers many queries from the HNSW index, and finds more than it keeps in view by default", async () => {
  await importToPg(passages, { connection, table: "indexed", embedder });
  const [vector] = [vectorText(await embedder.embedQueries(["x"]), 0, embedder.dim)];
  await ask("set enable_seqscan = off; set enable_sort = off");
  const text = nearestText({ table: "indexed", metric: "cos", dtype: "f32" });
  const plan = await ask(
    `explain ${text.replace("$1", `array['${vector}','${vector}']`).replace("$2", "5")}`,
  );
  assert.match(JSON.stringify(plan), /Index Scan using seekrl_[0-9a-f]{16}_cos on indexed/);
  await using search = openPgSearch({ connection, table: "indexed", embedder, efSearch: 10 });
  const found = await search(["x", "y"], { topK: 120 });
  assert.deepEqual(
    found.map((hits) => hits.length),
    [120, 120],
  );
  await ask("set enable_seqscan = on; set enable_sort = on");
});

test("half precision halves the vectors and moves scores by a thousandth", async () => {
  const table = "halves";
  await importToPg(passages, { connection, table, embedder, dtype: "f16" });
  await using search = openPgSearch({ connection, table, embedder, dtype: "f16" });
  const [hits = []] = await search(queries.slice(0, 1), { topK: 3 });
  const [exact = []] = await exactScores("cos");
  for (const { id, score } of hits) {
    const number = passages.findIndex((passage) => passage.id === id);
    assert.ok(Math.abs(score - exact[number]!) < 2e-3);
  }
  const [column] = await ask(
    "select format_type(atttypid, atttypmod) as type from pg_attribute where attrelid = 'halves'::regclass and attname = 'embedding'",
  );
  assert.equal(column?.type, "halfvec(64)");
});

test("an import that is stopped ends with ERR_ABORTED, and the same import again brings the rest", async () => {
  const stop = new AbortController();
  const counts: number[] = [];
  const into = { connection, table: "stopped", embedder, batchSize: 50 };
  const onProgress = ({ passages: count }: { passages: number }): void => {
    counts.push(count);
    if (count >= 150) stop.abort();
  };
  await assert.rejects(importToPg(passages, { ...into, onProgress, signal: stop.signal }), {
    code: "ERR_ABORTED",
  });
  assert.deepEqual(counts.slice(0, 3), [50, 100, 150]);
  assert.ok(Number((await ask("select count(*) from stopped"))[0]?.count) < 400);
  const changed = passages.map((passage) => ({ ...passage, text: `${passage.text} Again.` }));
  await importToPg(changed, into);
  const [row] = await ask(
    "select count(*), count(*) filter (where text like '%Again.') as changed from stopped",
  );
  assert.deepEqual([Number(row?.count), Number(row?.changed)], [400, 400]);
});

test("names and texts are never read as SQL", async () => {
  const table = `public.o'd"d; drop table indexed; --`;
  const strange: Passage[] = [
    {
      id: `'); drop table indexed; --`,
      title: `$1 {a,"b"} \\`,
      text: "NULL 'quoted' \"twice\"\n\ttabs é 漢 😀",
    },
    { id: "", title: "", text: "" },
  ];
  await importToPg(strange, { connection, table, embedder, language: "english" });
  await using search = openPgSearch({ connection, table, embedder });
  const [hits = []] = await search([`'; drop table indexed; --`], { topK: 2 });
  assert.deepEqual(
    hits.map(({ score, ...passage }) => passage).sort((a, b) => b.id.length - a.id.length),
    strange,
  );
  await using words = openPgSearch({ connection, table });
  assert.deepEqual(
    (await words([`a & b | ! ( ' \\ :* <->`, "漢"], { topK: 2 })).map((found) => found.length),
    [1, 1],
  );
  assert.equal((await ask("select count(*) from indexed"))[0]?.count, "400");
  for (const wrong of ["", "a.b.c", ".a"]) {
    assert.throws(() => openPgSearch({ connection, table: wrong, embedder }), { code: "ERR_ARGUMENT" });
  }
});

test("without an embedder passages are found by their words, and any word will do", async () => {
  const table = "worded";
  await importToPg(passages, { connection, table, embedder, language: "english" });
  await using search = openPgSearch({ connection, table });
  const found = await search([...queries, "zzz qqq"], { topK: 3 });
  for (const [i, hits] of found.slice(0, queries.length).entries())
    assert.equal(hits[0]?.title, passages[i]?.title);
  assert.deepEqual(found.at(-1), []);
  assert.ok(found.flat().every(({ score }) => score > 0));
});

test("what the server refuses is said once, in its words, without the password", async () => {
  await using search = openPgSearch({ connection, table: "nowhere", embedder });
  await assert.rejects(search(["q"], { topK: 1 }), (error: { code: string; message: string }) => {
    assert.equal(error.code, "ERR_REMOTE");
    assert.match(
      error.message,
      /^postgresql:\/\/127\.0\.0\.1:\d+\/postgres: relation "nowhere" does not exist$/,
    );
    return true;
  });
  const broken = [{ id: "a", title: "", text: "nul \0 byte" }];
  await assert.rejects(importToPg(broken, { connection, table: "nul", embedder }), { code: "ERR_FORMAT" });
  const twice = [passages[0]!, passages[0]!];
  await assert.rejects(importToPg(twice, { connection, table: "twice", embedder }), {
    message: /"p0": comes twice/,
  });
});

test("the table that docs/remote.md shows is one that PostgreSQL makes", async () => {
  const [block] = codeBlocks().filter(({ language }) => language === "sql");
  const statements = (block?.text ?? "").replaceAll(/--.*$/gm, "").split(";");
  const own = new Postgres({ connection: database.url });
  const texts = ["create schema page", "set search_path to page, public", ...statements];
  await own.run(texts.filter((text) => text.trim() !== "").map((text) => ({ text })));
  const columns = "select column_name from information_schema.columns where table_schema = 'page' order by 1";
  const found = await own.run<{ column_name: string }>([{ text: columns }]);
  assert.deepEqual(
    found.map((each) => each.column_name),
    ["embedding", "id", "text", "title", "words"],
  );
  await own.run([{ text: "drop schema page cascade" }, { text: "set search_path to public" }]);
  await own.close();
});
