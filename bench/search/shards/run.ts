/**
 * Do four retriever shards find what one index finds, what do they cost, and is a query lost when one of them dies?
 *
 * `npm run bench -- search/shards/build --passages 1000000 --folder DIR`, then `npm run bench -- search/shards/run --folder
 * DIR [--questions 200] [--seconds 20]`: DIR/whole is an index, DIR/parts/1 to 4 its parts, `index split` made them. One
 * JSON object a step on standard output. The peer is one server with the whole index on the same cores.
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { remoteSearch } from "../../../connectors/remote/remote-search.ts";
import { shardedSearch } from "../../../connectors/remote/shards/sharded-search.ts";
import { withBatching } from "../../../lib/search/batching/batching.ts";
import type { SearchMode } from "../../../lib/search/index-folder/find.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import type { Hit, Search } from "../../../lib/search/search.ts";
import { VectorIndex } from "../../../lib/search/vector-index.ts";
import { mixtureOf } from "../mixture.ts";
import { questionsOf } from "./corpus.ts";
import { type ServedFolder, serveFolder } from "./servers.ts";

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: "" },
    questions: { type: "string", default: "200" },
    seconds: { type: "string", default: "20" },
    passages: { type: "string", default: "1000000" },
    steps: { type: "string", default: "equality,cost,kill,pause" },
  },
});
const numShards = 4;
const parts = Array.from({ length: numShards }, (_, i) => `${values.folder}/parts/${i + 1}`);
const queries = questionsOf(Number(values.passages), Number(values.questions));
const report = (step: object): void => console.log(JSON.stringify(step));

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

/** Processor seconds of servers so far. */
function secondsOf(servers: readonly ServedFolder[]): number {
  const ticksASecond = 100;
  const ticks = servers.map(({ child }) => {
    const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
    const [, user = 0, system = 0] = /^\d+ \(.*\) \S(?: \S+){10} (\d+) (\d+)/.exec(stat) ?? [];
    return Number(user) + Number(system);
  });
  return ticks.reduce((sum, each) => sum + each, 0) / ticksASecond;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

/** Ids, scores and order of everything that is found, against the index itself. */
async function equality(servers: readonly ServedFolder[]): Promise<void> {
  for (const mode of ["bm25", "dense", "hybrid"] as const) {
    const one = await openIndex(`${values.folder}/whole`, { mode });
    const search = shardedSearch({ shards: servers.map(({ url }) => [url]), mode });
    for (const topK of [1, 10, 100]) {
      const [expected, found] = [await one(queries, { topK }), await search(queries, { topK })];
      const numSame = expected.filter((hits, i) => isDeepStrictEqual(hits, found[i])).length;
      const numTied = expected.filter(
        (hits) => new Set(hits.map(({ score }) => score)).size < hits.length,
      ).length;
      report({ step: "equality", mode, topK, queries: queries.length, same: numSame, withTies: numTied });
    }
    one.close();
  }
}

/** What is timed: a search, and the servers whose processor time it takes. */
interface Timed {
  readonly name: string;
  readonly search: Search;
  readonly servers: readonly ServedFolder[];
}

/** So many clients, each with one query after the other. */
async function timed({ name, search, servers }: Timed, mode: SearchMode, clients: number): Promise<void> {
  await search(queries.slice(0, 8), { topK: 10 });
  const own = process.cpuUsage();
  const before = secondsOf(servers);
  const waits: number[] = [];
  let next = 0;
  const begun = performance.now();
  const ask = async (): Promise<void> => {
    for (let i = next++; i < queries.length; i = next++) {
      const at = performance.now();
      await search([queries[i] ?? ""], { topK: 10 });
      waits.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: clients }, ask));
  const perSecond = (1000 * queries.length) / (performance.now() - begun);
  waits.sort((a, b) => a - b);
  const { user, system } = process.cpuUsage(own);
  const serverMs = (1000 * (secondsOf(servers) - before)) / queries.length;
  const clientMs = (user + system) / 1000 / queries.length;
  const [p50, p99] = [quantile(waits, 0.5), quantile(waits, 0.99)];
  report({
    ...{ step: "cost", name, mode, clients, p50: rounded(p50), p99: rounded(p99) },
    ...{ perSecond: rounded(perSecond), serverMs: rounded(serverMs), clientMs: rounded(clientMs) },
  });
}

async function cost(whole: ServedFolder, servers: readonly ServedFolder[]): Promise<void> {
  const shards = servers.map(({ url }) => [url]);
  for (const mode of ["bm25", "dense", "hybrid"] as const)
    for (const clients of [1, 32]) {
      // Alternately, so that what else runs here falls on both.
      for (let round = 0; round < 2; round += 1) {
        const one = withBatching(shardedSearch({ shards: [[whole.url]], mode }), { maxCached: 0 });
        const four = withBatching(shardedSearch({ shards, mode }), { maxCached: 0 });
        await timed({ name: "one server", search: one, servers: [whole] }, mode, clients);
        await timed({ name: "four shards", search: four, servers }, mode, clients);
      }
    }
  const usual = withBatching(remoteSearch({ url: whole.url }), { maxCached: 0 });
  for (const clients of [1, 32])
    await timed({ name: "one server, /retrieve", search: usual, servers: [whole] }, "hybrid", clients);
}

/** Clients that ask on and compare what they get. */
function load(search: Search, expected: readonly Hit[][], clients: number) {
  const seen = { answered: 0, wrong: 0, failed: 0, longestMs: 0, longestAtMs: 0, faults: new Set<string>() };
  const begun = performance.now();
  let isOver = false;
  const ask = async (from: number): Promise<void> => {
    for (let i = from; !isOver; i = (i + clients) % queries.length) {
      const at = performance.now();
      try {
        const [hits] = await search([queries[i] ?? ""], { topK: 10 });
        seen.answered += 1;
        if (!isDeepStrictEqual(hits, expected[i])) seen.wrong += 1;
      } catch (error) {
        seen.failed += 1;
        seen.faults.add((error as Error).message.slice(0, 300));
      }
      const waited = performance.now() - at;
      if (waited <= seen.longestMs) continue;
      seen.longestMs = waited;
      seen.longestAtMs = Math.round(at - begun);
    }
  };
  const all = Promise.all(Array.from({ length: clients }, (_, i) => ask(i)));
  const end = async () => {
    isOver = true;
    await all;
    return { ...seen, longestMs: Math.round(seen.longestMs), faults: [...seen.faults] };
  };
  return { end };
}

const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** What the whole index finds, to compare with. */
async function truth(mode: SearchMode): Promise<Hit[][]> {
  const one = await openIndex(`${values.folder}/whole`, { mode });
  const found = await one(queries, { topK: 10 });
  one.close();
  return found;
}

/** Lets every server be asked, so that what a file's first reading costs is not taken for a server's end. */
async function warm(search: Search): Promise<void> {
  for (let i = 0; i < 4; i += 1)
    await Promise.all(queries.slice(0, 32).map((query) => search([query], { topK: 10 })));
}

/** A server of the second shard is killed under load, started again, and then both of the shard's are killed. */
async function killed(mode: SearchMode): Promise<void> {
  const seconds = Number(values.seconds);
  const expected = await truth(mode);
  const copies = await Promise.all([...parts, ...parts].map((part) => serveFolder(part)));
  const shards = parts.map((_, i) => [copies[i]?.url ?? "", copies[i + numShards]?.url ?? ""]);
  const search = shardedSearch({ shards, mode });
  await warm(search);
  const running = load(search, expected, 8);
  await pause(seconds / 4);
  await copies[1]?.kill();
  await pause(seconds / 4);
  const port = Number(new URL(shards[1]?.[0] ?? "").port);
  const again = await serveFolder(parts[1] ?? "", { port });
  await pause(seconds / 4);
  await copies[1 + numShards]?.kill();
  await pause(seconds / 4);
  report({
    step: "two replicas, one killed, started again, the other killed",
    mode,
    ...(await running.end()),
  });
  await again.kill();
  const last = load(search, expected, 2);
  await pause(3);
  report({ step: "a shard without a server", mode, ...(await last.end()) });
  for (const copy of copies)
    if (copy.child.exitCode === null && copy.child.signalCode === null) await copy.kill();
}

/** A server of the second shard stops for a while without ending, as one that swaps or is cut off does. */
async function paused(mode: SearchMode, hedgeAfterMs: number): Promise<void> {
  const expected = await truth(mode);
  const copies = await Promise.all([...parts, ...parts].map((part) => serveFolder(part)));
  const shards = parts.map((_, i) => [copies[i]?.url ?? "", copies[i + numShards]?.url ?? ""]);
  const search = shardedSearch({ shards, mode, hedgeAfterMs });
  await warm(search);
  const running = load(search, expected, 8);
  await pause(4);
  copies[1]?.child.kill("SIGSTOP");
  await pause(15);
  copies[1]?.child.kill("SIGCONT");
  await pause(2);
  report({ step: "one of two replicas paused for 15 s", mode, hedgeAfterMs, ...(await running.end()) });
  for (const copy of copies) await copy.kill();
}

/** What one graph finds of the true ten nearest, and what four over a quarter each do, walked as hard. */
async function recall(): Promise<void> {
  const [count, dim, topK] = [100_000, 128, 10];
  const mixture = mixtureOf(dim);
  const [vectors, asked] = [mixture.draw(count, 1), mixture.draw(500, 2)];
  const graphOver = async (begin: number, end: number): Promise<VectorIndex> => {
    const graph = VectorIndex.create("hnsw", { dim, capacity: end - begin });
    await graph.add(vectors.subarray(begin * dim, end * dim));
    return graph;
  };
  const whole = VectorIndex.create("exact", { dim, capacity: count });
  await whole.add(vectors);
  const truth = await whole.search(asked, { topK });
  const one = await graphOver(0, count);
  const each = count / numShards;
  const quarters: VectorIndex[] = [];
  for (let i = 0; i < numShards; i += 1) quarters.push(await graphOver(i * each, (i + 1) * each));
  for (const expansion of [10, 20, 40, 80, 128]) {
    const alone = await one.search(asked, { topK, expansion });
    const parts = await Promise.all(quarters.map((graph) => graph.search(asked, { topK, expansion })));
    let [inOne, inFour] = [0, 0];
    for (let q = 0; q < 500; q += 1) {
      const row = [q * topK, (q + 1) * topK] as const;
      const nearest = new Set(truth.ids.subarray(...row));
      const found = parts.flatMap(({ ids, scores }, part) =>
        [...ids.subarray(...row)].map((id, i) => ({ id: part * each + id, score: scores[row[0] + i] ?? 0 })),
      );
      found.sort((a, b) => b.score - a.score || a.id - b.id);
      inOne += [...alone.ids.subarray(...row)].filter((id) => nearest.has(id)).length;
      inFour += found.slice(0, topK).filter(({ id }) => nearest.has(id)).length;
    }
    report({ step: "recall", expansion, one: inOne / (500 * topK), four: inFour / (500 * topK) });
  }
}

const steps = values.steps.split(",");
if (steps.includes("recall")) await recall();
if (steps.includes("equality") || steps.includes("cost")) {
  const whole = await serveFolder(`${values.folder}/whole`);
  const servers = await Promise.all(parts.map((part) => serveFolder(part)));
  if (steps.includes("equality")) await equality(servers);
  if (steps.includes("cost")) await cost(whole, servers);
  for (const server of [whole, ...servers]) await server.kill();
}
if (steps.includes("kill")) await killed("bm25");
if (steps.includes("kill")) await killed("hybrid");
if (steps.includes("pause")) for (const hedge of [1_000, 2 ** 31 - 1]) await paused("bm25", hedge);
