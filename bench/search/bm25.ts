/**
 * How fast is BM25 built and searched, against the bm25s package on the same terms, and how fast are passages embedded?
 *
 * `node dist/bench/search/bm25.js [--passages 1000000] [--python python3] [--json]`: generated passages of 40 to 100 words,
 * Zipf-distributed; queries of 2 to 8 words of one passage, top 10. The peer is bench/search/bm25_peer.py (bm25s with
 * numba), given the words as numbers, so that cutting text counts on our side alone. Both
 * have as many threads as there are processors, and go first in turns; `--json` adds a line of figures a round.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Dice } from "../../lib/base/random.ts";
import { Bm25Builder, Bm25Index } from "../../lib/search/bm25.ts";
import { PassageStore, writePassageStore } from "../../lib/search/corpus/passage-store.ts";
import { HashedEmbedder } from "../../lib/search/embed/hashed-embedder.ts";

const { values } = parseArgs({
  options: {
    passages: { type: "string", default: "1000000" },
    python: { type: "string", default: "python3" },
    rounds: { type: "string", default: "3" },
    embed: { type: "string", default: "20000" },
    json: { type: "boolean", default: false },
  },
});
const numPassages = Number(values.passages);
const [numWords, numQueries, topK] = [300_000, 2000, 10];
const folder = await mkdtemp(join(tmpdir(), "seekrl-bench-"));
const dice = new Dice(1, 0);

/** Word numbers by their share of the running text: 1 / (rank + 30). */
const table = new Uint32Array(1 << 20);
const total = Array.from({ length: numWords }, (_, i) => 1 / (i + 30)).reduce((a, b) => a + b);
for (let i = 0, at = 0, sum = 0; i < numWords; i += 1) {
  sum += 1 / (i + 30) / total;
  for (; at < Math.min(table.length, sum * table.length); at += 1) table[at] = i;
}
const word = (): number => table[Math.floor(dice.next() * table.length)] ?? 0;

const words = new Uint32Array(numPassages * 100);
const ends = new Uint32Array(numPassages);
let numSeen = 0;
for (let i = 0; i < numPassages; i += 1) {
  const length = 40 + Math.floor(60 * dice.next());
  for (let w = 0; w < length; w += 1) words[numSeen++] = word();
  ends[i] = numSeen;
}
const wordsIn = (i: number): Uint32Array => words.subarray(i === 0 ? 0 : ends[i - 1], ends[i]);
const textOf = (list: Uint32Array): string => Array.from(list, (w) => `w${w}`).join(" ");
const queries = Array.from({ length: numQueries }, () => {
  const from = wordsIn(Math.floor(dice.next() * numPassages));
  return Uint32Array.from(
    { length: 2 + Math.floor(7 * dice.next()) },
    () => from[Math.floor(from.length * dice.next())] ?? 0,
  );
});

function* passages(): Generator<{ id: string; title: string; text: string }> {
  for (let i = 0; i < numPassages; i += 1) yield { id: String(i), title: "", text: textOf(wordsIn(i)) };
}

/** Seconds on the clock and of all threads. */
interface Times {
  readonly wall: number;
  readonly cpu: number;
}

async function timed<T>(work: () => Promise<T>): Promise<[T, Times]> {
  const [started, before] = [performance.now(), process.cpuUsage()];
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return [result, { wall: (performance.now() - started) / 1000, cpu: (user + system) / 1e6 }];
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const rate = (count: number, seconds: number): string => Math.round(count / seconds).toLocaleString("en-US");

await writePassageStore(join(folder, "passages.bin"), passages());
await writeFile(join(folder, "words.bin"), words.subarray(0, numSeen));
await writeFile(join(folder, "ends.bin"), ends);
await writeFile(join(folder, "queries.json"), JSON.stringify(queries.map((query) => Array.from(query))));
const store = await PassageStore.open(join(folder, "passages.bin"));
const path = join(folder, "bm25.bin");

const [, build] = await timed(async () => {
  const builder = new Bm25Builder({ scratch: folder });
  await builder.add({ store, first: 0, count: numPassages });
  await builder.save(path);
  builder.close();
});
const bytes = (await stat(path)).size;
const perSecond = ({ wall, cpu }: Times, count: number): string =>
  `${rate(count, wall)} a second, ${rate(count, cpu)} a second of one core`;
say(`build from text: ${perSecond(build, numPassages)}, ${(bytes / numPassages).toFixed(0)} bytes a passage`);
say(
  `peak memory, the generated words included: ${(process.resourceUsage().maxRSS / 2 ** 20).toFixed(2)} GiB`,
);

const peer = spawn(values.python, [join("bench", "search", "bm25_peer.py"), folder, String(topK)], {
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = createInterface({ input: peer.stdout })[Symbol.asyncIterator]();
const ask = async (line: string): Promise<Record<string, number>> => {
  peer.stdin.write(`${line}\n`);
  return JSON.parse((await lines.next()).value as string) as Record<string, number>;
};
const timesOf = ({ seconds = 0, cpu = 0 }: Record<string, number>): Times => ({ wall: seconds, cpu });
const theirs = await ask("build");
say(`peer's build from numbers: ${perSecond(timesOf(theirs), numPassages)}, ${theirs.gib?.toFixed(2)} GiB`);

const [index, { wall: openSeconds }] = await timed(() => Bm25Index.open(path, { verify: false }));
say(`open, of a file known to be good: ${(1000 * openSeconds).toFixed(1)} ms`);
const texts = queries.map(textOf);
await index.search(texts.slice(0, 100), { topK });
for (let round = 0; round < Number(values.rounds); round += 1) {
  const early = round % 2 === 1 ? await ask("search") : undefined;
  const [, together] = await timed(() => index.search(texts, { topK }));
  const times: number[] = [];
  for (const text of texts.slice(0, 500))
    times.push(1000 * (await timed(() => index.search([text], { topK })))[1].wall);
  times.sort((a, b) => a - b);
  const answer = early ?? (await ask("search"));
  const ratio = (answer.cpu ?? 0) / together.cpu;
  say(`round ${round}: ${perSecond(together, numQueries)}; peer ${perSecond(timesOf(answer), numQueries)}`);
  say(
    `  ${ratio.toFixed(1)} times by processor time; one query alone: median ${times[250]?.toFixed(2)} ms, 99th percentile ` +
      `${times[495]?.toFixed(2)} ms, peer's median ${(1000 * (answer.single ?? 0)).toFixed(2)} ms`,
  );
  const seekrl = {
    build: numPassages / build.wall,
    together: numQueries / together.wall,
    single: times[250],
  };
  const bm25s = {
    build: numPassages / timesOf(theirs).wall,
    together: numQueries / timesOf(answer).wall,
    single: 1000 * (answer.single ?? 0),
  };
  if (values.json) say(JSON.stringify({ contenders: { seekrl, bm25s } }));
}
const { ids, scores } = await index.search(texts, { topK });
const { shared = 0, difference = 0 } = await ask(`compare ${JSON.stringify([[...ids], [...scores]])}`);
say(
  `top-${topK} shared with the peer: ${(100 * shared).toFixed(2)} %; scores at equal ranks differ by at most ` +
    `${difference.toExponential(1)} of themselves`,
);

const numEmbedded = Math.min(numPassages, Number(values.embed));
const range = { store, first: 0, count: numEmbedded };
if (numEmbedded > 0) {
  const [embedder, fit] = await timed(() => HashedEmbedder.fit(range));
  const [, embed] = await timed(() => embedder.embedPassages(range));
  say(`hashed embedder, width 512, fitted: ${perSecond(fit, numEmbedded)}`);
  say(`  embeds: ${perSecond(embed, numEmbedded)}`);
}
peer.stdin.end();
await rm(folder, { recursive: true });
