/**
 * How many queries a second do the vector indexes answer at equal recall, against faiss and the usearch package?
 *
 * `npm run bench -- search/peers [--count 200000] [--dim 384] [--folder DIR] [--rounds 5] [--json]`: the mixture of
 * mixture.ts, top 10. Needs a Python with faiss (`pip install faiss-cpu numpy`), named by SEEKRL_PYTHON. For every graph
 * the smallest expansion that reaches a recall is sought; then all are asked in turns, several rounds,
 * every second one in the other order.
 * `--folder` keeps what was built, `--only REGEX` chooses among the indexes named below, `--json` adds a line of figures a round.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { VectorIndex } from "../../lib/search/vector-index.ts";
import { type Asked, type Contender, type Data, Faiss, seekrl, timed, topK, usearch } from "./contenders.ts";
import { mixtureOf } from "./mixture.ts";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "200000" },
    dim: { type: "string", default: "384" },
    folder: { type: "string" },
    rounds: { type: "string", default: "5" },
    queries: { type: "string", default: "1024" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const [count, dim, numQueries] = [Number(values.count), Number(values.dim), Number(values.queries)];
const folder = values.folder ?? mkdtempSync(join(tmpdir(), "seekrl-peers-"));
mkdirSync(folder, { recursive: true });

function floats(path: string, make: () => Float32Array): Float32Array {
  if (!existsSync(path)) writeFileSync(path, make());
  const bytes = readFileSync(path);
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

async function finerRows(source: VectorIndex, dtype: "f32" | "bf16"): Promise<VectorIndex> {
  const path = join(folder, `exact-${dtype}`);
  if (existsSync(path)) return VectorIndex.open(path, { kind: "exact" });
  const rows = VectorIndex.create("exact", { dim, capacity: count, dtype });
  await rows.addFrom(source);
  await rows.save(path);
  return rows;
}

async function makeData(): Promise<Data> {
  const mixture = mixtureOf(dim);
  const vectors = floats(join(folder, "vectors.f32"), () => mixture.draw(count, 1));
  const queries = floats(join(folder, "queries.f32"), () => mixture.draw(numQueries, 2));
  const rows = VectorIndex.create("exact", { dim, capacity: count, dtype: "f32" });
  for (let at = 0; at < count; at += 4096) await rows.add(vectors.subarray(at * dim, (at + 4096) * dim));
  return { folder, dim, count, vectors, queries, rows };
}

function recall(ids: Int32Array, truth: Int32Array): number {
  let found = 0;
  for (let at = 0; at < ids.length; at += topK) {
    const expected = new Set(truth.subarray(at, at + topK));
    found += ids.subarray(at, at + topK).filter((id) => expected.has(id)).length;
  }
  return found / ids.length;
}

const expansions = [10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512];

/** The setting with the least work that reaches `target`, or the last. */
async function settingFor(each: Contender, target: number, truth: Int32Array) {
  for (const expansion of each.isGraph ? expansions : [0]) {
    const { ids } = await each.search({ numQueries, batch: 256, expansion });
    const reached = recall(ids, truth);
    if (reached >= target || !each.isGraph) return { each, expansion, recall: reached };
  }
  return undefined;
}

const median = (sample: number[]): number => sample.sort((a, b) => a - b)[sample.length >> 1] ?? Number.NaN;

/** What each round measured, for `--json`: by table and name. */
const told: Record<string, Record<string, Record<string, number>>>[] = [];

function tell(round: number, title: string, name: string, figure: Record<string, number>): void {
  const tables = told[round] ?? {};
  const table = tables[title] ?? {};
  told[round] = { ...tables, [title]: { ...table, [name]: { ...table[name], ...figure } } };
}

/** Queries per second of each, asked in turns so that what else the machine does hits all alike. */
async function compare(
  settings: readonly { each: Contender; expansion: number }[],
  asked: Omit<Asked, "expansion">,
  { title, figure }: { title: string; figure: string },
) {
  const costs = settings.map(() => ({ wall: [] as number[], cpu: [] as number[] }));
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const order = [...settings.entries()];
    for (const [i, { each, expansion }] of round % 2 === 0 ? order : order.reverse()) {
      const { seconds, cpuSeconds } = await each.search({ ...asked, expansion });
      if (round === 0) continue;
      tell(round - 1, title, each.name, { [figure]: asked.numQueries / seconds });
      costs[i]?.wall.push(asked.numQueries / seconds);
      costs[i]?.cpu.push(asked.numQueries / cpuSeconds);
    }
  }
  return costs.map(({ wall, cpu }) => ({ wall: median(wall), cpu: median(cpu) }));
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const { faiss, version } = await Faiss.start(
  fileURLToPath(new URL("../../../bench/search/peers_faiss.py", import.meta.url)),
);
const data = await makeData();
const finer = await finerRows(data.rows, "bf16");
const truth = (await data.rows.search(data.queries, { topK })).ids;
print(`${count} vectors of width ${dim}, ${numQueries} queries, top ${topK}; faiss ${version}\n`);

type Make = () => Promise<Contender>;
const only = new RegExp(values.only ?? "");
async function made(all: Readonly<Record<string, Make>>): Promise<Contender[]> {
  const chosen: Contender[] = [];
  for (const [name, make] of Object.entries(all)) if (only.test(name)) chosen.push(await make());
  return chosen;
}
const flat = await made({
  "faiss exact": () => faiss.contender(data, "flat"),
  "seekrl exact f32": () => seekrl(data, "exact", "f32"),
  "seekrl exact bf16": () => seekrl(data, "exact", "bf16"),
  "seekrl exact bf16 again": () => seekrl(data, "exact", "bf16", { finer: data.rows, overFetch: 2 }),
  "seekrl exact i8": () => seekrl(data, "exact", "i8"),
  "seekrl exact i8 again": () => seekrl(data, "exact", "i8", { finer, overFetch: 4 }),
  "seekrl exact b1 again": () => seekrl(data, "exact", "b1", { finer, overFetch: 20 }),
});
const graphs = await made({
  "faiss hnsw": () => faiss.contender(data, "hnsw"),
  "usearch hnsw bf16": () => usearch(data, "bf16"),
  "seekrl hnsw i8": () => seekrl(data, "hnsw", "i8"),
  "seekrl hnsw i8 again": () => seekrl(data, "hnsw", "i8", { finer, overFetch: 2 }),
  "seekrl hnsw bf16": () => seekrl(data, "hnsw", "bf16"),
  "seekrl hnsw b1 again": () => seekrl(data, "hnsw", "b1", { finer, overFetch: 20 }),
});

print(
  "| built | wall s | processor s | vectors a processor second | bytes a vector |\n|---|---|---|---|---|",
);
for (const { name, built, bytesPerVector } of [...flat, ...graphs]) {
  const cost = built
    ? [built.seconds, built.cpuSeconds, count / built.cpuSeconds].map(Math.round)
    : ["", "", ""];
  print(`| ${name} | ${cost.join(" | ")} | ${Math.round(bytesPerVector)} |`);
}

async function report(title: string, group: readonly Contender[], target: number): Promise<void> {
  const sought = [];
  for (const each of group) sought.push(await settingFor(each, target, truth));
  const reached = sought.filter((setting) => setting !== undefined);
  const batches = await compare(reached, { numQueries, batch: 256 }, { title, figure: "together" });
  const singles = await compare(
    reached,
    { numQueries: Math.min(numQueries, 64), batch: 1 },
    { title, figure: "single" },
  );
  print(
    `\n| ${title} | expansion | recall | queries/s, 256 at once | to the first | per processor second | to the first | one at a time | to the first |`,
  );
  print("|---|---|---|---|---|---|---|---|---|");
  for (const [i, { each, expansion, recall: share }] of reached.entries()) {
    const [together, first, single, firstSingle] = [batches[i]!, batches[0]!, singles[i]!, singles[0]!];
    const cells = [
      Math.round(together.wall),
      (together.wall / first.wall).toFixed(2),
      Math.round(together.cpu),
      (together.cpu / first.cpu).toFixed(2),
      Math.round(single.wall),
      (single.wall / firstSingle.wall).toFixed(2),
    ];
    print(`| ${each.name} | ${each.isGraph ? expansion : ""} | ${share.toFixed(4)} | ${cells.join(" | ")} |`);
  }
  for (const [i, setting] of sought.entries())
    if (setting === undefined) print(`| ${group[i]?.name} | does not reach it | | | | | | | |`);
}

await report("exact", flat, 0);
await report("graph, recall 0.95", graphs, 0.95);
await report("graph, recall 0.99", graphs, 0.99);

print("\n| opened | verified, ms | known to be good, ms |\n|---|---|---|");
for (const name of ["exact-bf16", "hnsw-bf16", "hnsw-i8"]) {
  if (!existsSync(join(folder, name))) continue;
  const kind = name.startsWith("exact") ? "exact" : "hnsw";
  const open = (verify: boolean) =>
    timed(async () => (await VectorIndex.open(join(folder, name), { kind, verify })).close());
  await open(true);
  const times = [await open(true), await open(false)].map(({ seconds }) => (1000 * seconds).toFixed(1));
  print(`| ${name} | ${times.join(" | ")} |`);
}
if (values.json) for (const contenders of told) print(JSON.stringify({ contenders }));
faiss.close();
