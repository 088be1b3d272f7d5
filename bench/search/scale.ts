/**
 * What does an index of millions of passages cost: time by stage, memory, disk, milliseconds to open and to search?
 *
 * `node dist/bench/search/scale.js build --corpus passages.jsonl --out DIR [--kind hnsw] [--dim 128] [--dtype i8]
 * [--connectivity 16] [--expansion-add 64] [--resume]`, then, in a process of its own so that nothing is open yet,
 * `... search --out DIR [--truth DIR2]`, where DIR2 is an index of the same passages whose vectors are compared exactly.
 * `bench/corpus/generate.ts` makes a corpus of any size. One JSON object on standard output; no peer.
 */
import { readFileSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PassageStore } from "../../lib/search/corpus/passage-store.ts";
import { buildIndex } from "../../lib/search/index-folder/build/build.ts";
import type { IndexProgress } from "../../lib/search/index-folder/build/progress.ts";
import { openIndex } from "../../lib/search/index-folder/open.ts";
import type { Search } from "../../lib/search/search.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    corpus: { type: "string", default: "" },
    out: { type: "string", default: "" },
    truth: { type: "string" },
    kind: { type: "string", default: "hnsw" },
    dim: { type: "string", default: "128" },
    dtype: { type: "string", default: "i8" },
    connectivity: { type: "string", default: "16" },
    "expansion-add": { type: "string", default: "64" },
    resume: { type: "boolean", default: false },
  },
});

/** A line of /proc/self/status in MiB: memory that no file stands behind (RssAnon), or the most ever (VmHWM). */
function memoryMiB(name: "RssAnon" | "VmHWM"): number {
  const status = readFileSync("/proc/self/status", "utf8");
  return Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
}

async function folderBytes(folder: string): Promise<Record<string, number>> {
  const bytes: Record<string, number> = {};
  for (const name of await readdir(folder, { recursive: true })) {
    const { size } = await stat(join(folder, name));
    if (name.endsWith(".bin")) bytes[name] = size;
  }
  return bytes;
}

async function build(): Promise<object> {
  const stages: Record<string, { passages: number; seconds: number; peakAnonMiB: number }> = {};
  let [begun, shown] = [performance.now(), 0];
  const onProgress = ({ stage, done, perSecond }: IndexProgress): void => {
    if (stages[stage] === undefined) begun = performance.now();
    const peak = Math.max(stages[stage]?.peakAnonMiB ?? 0, memoryMiB("RssAnon"));
    stages[stage] = { passages: done, seconds: (performance.now() - begun) / 1000, peakAnonMiB: peak };
    if (performance.now() - shown < 10_000) return;
    shown = performance.now();
    process.stderr.write(`${stage} ${done} ${Math.round(perSecond)}/s ${peak} MiB\n`);
  };
  const graph = { connectivity: Number(values.connectivity), expansionAdd: Number(values["expansion-add"]) };
  const dense = {
    dim: Number(values.dim),
    kind: values.kind as "exact" | "hnsw",
    dtype: values.dtype as "i8" | "bf16",
    graph,
  };
  const cpu = process.cpuUsage();
  await buildIndex({ corpus: values.corpus, out: values.out, dense, resume: values.resume, onProgress });
  const { user, system } = process.cpuUsage(cpu);
  const cpuSeconds = (user + system) / 1e6;
  return { stages, cpuSeconds, peakMiB: memoryMiB("VmHWM"), bytes: await folderBytes(values.out) };
}

interface Question {
  readonly id: string;
  readonly query: string;
}

/** A passage's title and some of its words: a question whose answer is that passage. */
async function questionsOf(folder: string, count: number): Promise<Question[]> {
  const files = await readdir(folder, { recursive: true });
  const store = await PassageStore.open(join(folder, files.find((name) => name.endsWith("passages.bin"))!), {
    verify: false,
  });
  const numbers = Int32Array.from({ length: count }, (_, i) => (i * 7_368_787) % store.size);
  const passages = await store.getMany(numbers);
  store.close();
  return passages.map(({ id, title, text }) => {
    const words = text.split(" ");
    return { id, query: [title, words[20], words[40], words[60], words[80]].join(" ") };
  });
}

const median = (sample: number[]): number => sample.sort((a, b) => a - b)[sample.length >> 1]!;

async function measure(search: Search, questions: readonly Question[]): Promise<object> {
  const queries = questions.map(({ query }) => query);
  await search(queries.slice(0, 32), { topK: 10 });
  const single: number[] = [];
  for (const query of queries.slice(0, 64)) {
    const begun = performance.now();
    await search([query], { topK: 10 });
    single.push(performance.now() - begun);
  }
  const begun = performance.now();
  const found = await search(queries, { topK: 10 });
  const seconds = (performance.now() - begun) / 1000;
  const right = questions.filter(({ id }, i) => found[i]?.some((hit) => hit.id === id)).length;
  return {
    singleMs: Number(median(single).toFixed(2)),
    batchQueriesPerSecond: Math.round(queries.length / seconds),
    foundInTop10: right / queries.length,
  };
}

async function idsOf(folder: string, questions: readonly Question[]): Promise<Set<string>[]> {
  const index = await openIndex(folder, { mode: "dense" });
  const found = await index(
    questions.map(({ query }) => query),
    { topK: 10 },
  );
  index.close();
  return found.map((hits) => new Set(hits.map(({ id }) => id)));
}

async function recall(questions: readonly Question[], truth: string): Promise<number> {
  const [given, exact] = [await idsOf(values.out, questions), await idsOf(truth, questions)];
  const shared = given.map((ids, q) => [...ids].filter((id) => exact[q]?.has(id)).length);
  return shared.reduce((sum, count) => sum + count, 0) / (10 * questions.length);
}

async function searchAll(): Promise<object> {
  const questions = await questionsOf(values.out, 512);
  const result: Record<string, object> = {};
  for (const mode of ["bm25", "dense", "hybrid"] as const) {
    const begun = performance.now();
    const index = await openIndex(values.out, { mode });
    const openMs = Number((performance.now() - begun).toFixed(1));
    result[mode] = { openMs, checkedBytes: index.checkedBytes, ...(await measure(index, questions)) };
    index.close();
  }
  const memory = { anonMiB: memoryMiB("RssAnon"), peakMiB: memoryMiB("VmHWM") };
  const exact = values.truth === undefined ? {} : { recallAt10: await recall(questions, values.truth) };
  return { ...result, ...exact, ...memory };
}

const result = positionals[0] === "search" ? await searchAll() : await build();
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
