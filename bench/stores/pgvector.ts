/**
 * What do recall, queries and bytes cost in PostgreSQL with pgvector, against SeekRL's own graph over the same vectors?
 *
 * `node dist/bench/stores/pgvector.js --connection postgresql://... --postmaster PID [--count 100000] [--dim 128] [--dtype f32]`.
 * The table and its HNSW index are made by `importToPg` and searched by `openPgSearch`; the truth is an exact search over f32.
 * `--postmaster` is the process whose children's processor time is counted. One JSON object on standard output.
 */
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { importToPg } from "../../connectors/stores/pg-import.ts";
import { openPgSearch } from "../../connectors/stores/pg-search.ts";
import type { Passage } from "../../lib/search/corpus/passage.ts";
import { VectorIndex } from "../../lib/search/vector-index.ts";
import { mixtureOf } from "../search/mixture.ts";

const { values } = parseArgs({
  options: {
    connection: { type: "string", default: "" },
    postmaster: { type: "string", default: "" },
    count: { type: "string", default: "100000" },
    dim: { type: "string", default: "128" },
    dtype: { type: "string", default: "f32" },
    queries: { type: "string", default: "500" },
  },
});
const [count, dim, numQueries] = [Number(values.count), Number(values.dim), Number(values.queries)];
const dtype = values.dtype as "f32" | "f16";
const topK = 10;
// All queries are few statements, and the machine may be busy.
const patient = { timeoutMs: 600_000, deadlineMs: 600_000, maxConcurrent: 2 };
const mixture = mixtureOf(dim);
const vectors = mixture.draw(count, 1);
const asked = mixture.draw(numQueries, 2);

/** The vectors of texts that are numbers. */
const lookUp = (rows: Float32Array) => async (texts: readonly string[]) => {
  const found = new Float32Array(texts.length * dim);
  for (const [i, text] of texts.entries())
    found.set(rows.subarray(Number(text) * dim, (Number(text) + 1) * dim), i * dim);
  return found;
};
const embedder = { dim, embedPassages: lookUp(vectors), embedQueries: lookUp(asked) };
const queries = Array.from({ length: numQueries }, (_, i) => `${i}`);

function* passages(): Generator<Passage> {
  for (let i = 0; i < count; i += 1) yield { id: `${i}`, title: "", text: `${i}` };
}

/** Seconds that the server's processes have had of a processor. */
function serverSeconds(): number {
  const ticksASecond = 100;
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const [, parent, user, system] =
        /^\d+ \(.*\) \S (\d+)(?: \S+){9} (\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      if (parent === values.postmaster) ticks += Number(user) + Number(system);
    } catch {
      // It has ended meanwhile.
    }
  }
  return ticks / ticksASecond;
}

async function truth(): Promise<string[][]> {
  const index = VectorIndex.create("exact", { dim, capacity: count, dtype: "f32" });
  await index.add(vectors);
  const { ids } = await index.search(asked, { topK });
  index.close();
  return queries.map((_, q) => [...ids.subarray(q * topK, (q + 1) * topK)].map(String));
}

const recallOf = (found: readonly (readonly string[])[], expected: readonly (readonly string[])[]): number =>
  expected.reduce((sum, ids, q) => sum + ids.filter((id) => found[q]?.includes(id)).length, 0) /
  (topK * expected.length);

async function ofPostgres(expected: string[][]): Promise<object> {
  const into = { connection: values.connection, table: "passages", embedder, dtype };
  const begun = performance.now();
  await importToPg(passages(), into);
  const importSeconds = (performance.now() - begun) / 1000;
  const client = new pg.Client(values.connection);
  await client.connect();
  const sizes = `select pg_table_size('passages')::float8 as table, max(pg_relation_size(indexrelid))::float8 as graph
    from pg_index where indrelid = 'passages'::regclass`;
  const { rows } = await client.query(sizes);
  const searches: object[] = [];
  for (const efSearch of [40, 100, 200, 400]) {
    await using search = openPgSearch({ ...into, efSearch, transport: patient });
    await search(queries.slice(0, 50), { topK });
    const [before, at] = [serverSeconds(), performance.now()];
    const found = await search(queries, { topK });
    const [cpu, wall] = [serverSeconds() - before, (performance.now() - at) / 1000];
    const recall = recallOf(
      found.map((hits) => hits.map(({ id }) => id)),
      expected,
    );
    const waits: number[] = [];
    for (const query of queries.slice(0, 200)) {
      const asked = performance.now();
      await search([query], { topK });
      waits.push(performance.now() - asked);
    }
    waits.sort((a, b) => a - b);
    searches.push({
      ...{ efSearch, recall, perSecond: numQueries / wall, perCpuSecond: numQueries / cpu },
      ...{ p50: waits[100], p99: waits[198] },
    });
  }
  await client.end();
  return { importSeconds, bytes: rows[0], searches };
}

async function ofGraph(expected: string[][]): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-graph-"));
  const begun = performance.now();
  const index = VectorIndex.create("hnsw", { dim, capacity: count, dtype: "bf16" });
  await index.add(vectors);
  const buildSeconds = (performance.now() - begun) / 1000;
  await index.save(join(folder, "graph"));
  const searches: object[] = [];
  for (const expansion of [10, 20, 64, 128]) {
    await index.search(asked, { topK, expansion });
    const [before, at] = [process.cpuUsage(), performance.now()];
    const { ids } = await index.search(asked, { topK, expansion });
    const { user, system } = process.cpuUsage(before);
    const wall = (performance.now() - at) / 1000;
    const found = queries.map((_, q) => [...ids.subarray(q * topK, (q + 1) * topK)].map(String));
    const recall = recallOf(found, expected);
    searches.push({
      expansion,
      recall,
      perSecond: numQueries / wall,
      perCpuSecond: (1e6 * numQueries) / (user + system),
    });
  }
  const { size } = await stat(join(folder, "graph"));
  await rm(folder, { recursive: true });
  index.close();
  return { buildSeconds, bytes: size, searches };
}

const expected = await truth();
const result = { count, dim, dtype, postgres: await ofPostgres(expected), graph: await ofGraph(expected) };
process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
