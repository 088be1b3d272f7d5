/**
 * How many tokens a second does an encoder embed, of ragged texts and of 32 x 128, and how long does one query take,
 * against sentence-transformers and transformers.js on the same texts?
 *
 * `node dist/bench/embed/embed.js MODEL_FOLDER TEXTS_JSON [--sample 4] [--rounds 3] [--queries 36] [--only REGEX] [--json]`; the
 * folder is what make_models.py writes, `--only` chooses among the names below, `--json` adds a line of figures a round. SEEKRL_PYTHON names a Python with
 * sentence-transformers, SEEKRL_PEER_MODULES a node_modules with @huggingface/transformers. All use as many threads as
 * there are processors. `--sample 4` takes every fourth batch of 32 in order of length, which leaves the peers' padding
 * as it is with all. Contenders are asked in turns, in the other order every second time; other work on the machine leaves the ratio of processor time alone.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Encoder, type EncoderOptions } from "../../lib/search/embed/encoder.ts";
import { textRow } from "../../lib/search/embed/token-batch.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "4" },
    rounds: { type: "string", default: "3" },
    queries: { type: "string", default: "36" },
    only: { type: "string", default: "seekrl|sentence" },
    json: { type: "boolean", default: false },
  },
});
const [folder = "", textsFile = ""] = positionals;
const all = JSON.parse(readFileSync(textsFile, "utf8")) as Record<"passages" | "even" | "queries", string[]>;
const batchSize = 32;
const byLength = [...all.passages].sort((a, b) => b.length - a.length);
const texts = {
  queries: all.queries,
  even: all.even,
  passages: byLength.filter((_, i) => Math.floor(i / batchSize) % Number(values.sample) === 0),
};
const scratch = mkdtempSync(join(tmpdir(), "seekrl-bench-"));
const chosenFile = join(scratch, "texts.json");
writeFileSync(chosenFile, JSON.stringify(texts));

interface Timing {
  readonly seconds: number;
  readonly cpu: number;
  readonly first: readonly number[];
}

/** Something that answers a line with a timing. */
interface Contender {
  readonly name: string;
  run(line: string): Promise<Timing>;
  close(): void;
}

async function ours(name: string, options: EncoderOptions): Promise<Contender> {
  const encoder = await Encoder.open(folder, options);
  const run = async (line: string): Promise<Timing> => {
    const [what, index] = line.split(" ");
    const cpu = process.cpuUsage();
    const started = performance.now();
    const vectors =
      what === "query"
        ? await encoder.embedQueries([texts.queries[Number(index)] ?? ""])
        : await encoder.embedPassages(texts[what as "passages" | "even"].slice(0, Number(index)));
    const seconds = (performance.now() - started) / 1000;
    const used = process.cpuUsage(cpu);
    return { seconds, cpu: (used.user + used.system) / 1e6, first: [...vectors.subarray(0, 4)] };
  };
  return { name, run, close: () => encoder.close() };
}

function peer(name: string, command: string, options: readonly string[]): Contender {
  const child = spawn(command, options, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const run = async (line: string): Promise<Timing> => {
    child.stdin.write(`${line}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error(`${name}: the peer has ended`);
    return JSON.parse(value) as Timing;
  };
  return { name, run, close: () => child.kill() };
}

const here = join(process.cwd(), "bench", "embed");
const python = process.env.SEEKRL_PYTHON ?? "python3";
const sentence = (dtype: string): Contender =>
  peer(`sentence-transformers ${dtype}`, python, [join(here, "peer.py"), folder, chosenFile, dtype]);
const makers: Readonly<Record<string, () => Contender | Promise<Contender>>> = {
  "sentence-transformers bfloat16": () => sentence("bfloat16"),
  "sentence-transformers float32": () => sentence("float32"),
  "seekrl float32": () => ours("seekrl float32", {}),
  "seekrl bfloat16": () => ours("seekrl bfloat16", { dtype: "bfloat16" }),
  "seekrl int8": () => ours("seekrl int8", { dtype: "bfloat16", weights: "int8" }),
  "transformers.js float32": () =>
    peer("transformers.js float32", process.execPath, [
      join(here, "peer.mjs"),
      process.env.SEEKRL_PEER_MODULES ?? "node_modules",
      folder,
      chosenFile,
    ]),
};

const median = (sample: readonly number[]): number =>
  [...sample].sort((a, b) => a - b)[Math.floor(sample.length / 2)] ?? Number.NaN;

/** Each turn is some lines that one contender answers before the next does: idle threads of a peer spin for a while. */
async function measure(
  contenders: readonly Contender[],
  turns: readonly (readonly string[])[],
): Promise<Map<string, Timing[]>> {
  const timings = new Map(contenders.map(({ name }) => [name, [] as Timing[]]));
  for (const contender of contenders) await contender.run("passages 16");
  for (const [i, lines] of turns.entries()) {
    const order = i % 2 === 0 ? contenders : contenders.toReversed();
    for (const contender of order)
      for (const line of lines) timings.get(contender.name)?.push(await contender.run(line));
  }
  return timings;
}

const tokenizer = await Tokenizer.load(folder);
const tokensOf = (chosen: readonly string[]): number =>
  chosen.reduce((sum, text) => sum + textRow(tokenizer, text, 512).ids.length, 0);

const only = new RegExp(values.only);
const contenders: Contender[] = [];
for (const [name, make] of Object.entries(makers)) if (only.test(name)) contenders.push(await make());
const numRounds = Number(values.rounds);
const rounds = (what: "passages" | "even"): string[][] =>
  Array.from({ length: numRounds }, () => [`${what} ${texts[what].length}`]);
const ragged = await measure(contenders, rounds("passages"));
const even = await measure(contenders, rounds("even"));
/** Queries of each round. */
const share = Math.ceil(Number(values.queries) / numRounds);
const queries = await measure(
  contenders,
  Array.from({ length: numRounds }, (_, round) =>
    Array.from({ length: share }, (_, i) => `query ${(round * share + i) % texts.queries.length}`),
  ),
);

/** Tokens a second of wall time and of processor time, and both to the first contender. */
function rates(timings: Map<string, Timing[]>, name: string, numTokens: number): string[] {
  const of = (key: "seconds" | "cpu", who: string): number =>
    numTokens / median((timings.get(who) ?? []).map((timing) => timing[key]));
  return (["seconds", "cpu"] as const).flatMap((key) => [
    `${Math.round(of(key, name))}`,
    (of(key, name) / of(key, contenders[0]?.name ?? "")).toFixed(2),
  ]);
}

const counts = { passages: tokensOf(texts.passages), even: tokensOf(texts.even) };
const print = (cells: readonly (string | number)[]): void =>
  void process.stdout.write(`| ${cells.join(" | ")} |\n`);
process.stdout.write(
  `ragged: ${texts.passages.length} texts, ${counts.passages} tokens; even: ${texts.even.length}, ${counts.even}\n\n`,
);
const pair = (of: string): string[] => [`${of}, tokens/s`, "to the first", "a CPU second", "to the first"];
print(["", ...pair("ragged"), ...pair("32 x 128"), "query ms, median", "query CPU ms", "first values"]);
print(Array.from({ length: 12 }, () => "---"));
for (const { name } of contenders) {
  const single = queries.get(name) ?? [];
  print([
    name,
    ...rates(ragged, name, counts.passages),
    ...rates(even, name, counts.even),
    (1000 * median(single.map(({ seconds }) => seconds))).toFixed(1),
    (1000 * median(single.map(({ cpu }) => cpu))).toFixed(1),
    (ragged.get(name)?.[0]?.first ?? []).map((value) => value.toFixed(4)).join(" "),
  ]);
}

/** What a round measured of a contender: tokens a second, and the median of its share of the queries. */
function roundOf(round: number, name: string): object {
  const seconds = (timings: Map<string, Timing[]>): number =>
    timings.get(name)?.[round]?.seconds ?? Number.NaN;
  const single = (queries.get(name) ?? []).slice(round * share, (round + 1) * share);
  return {
    ragged: counts.passages / seconds(ragged),
    even: counts.even / seconds(even),
    query: 1000 * median(single.map((timing) => timing.seconds)),
  };
}
for (let round = 0; values.json && round < numRounds; round += 1) {
  const figures = Object.fromEntries(contenders.map(({ name }) => [name, roundOf(round, name)]));
  process.stdout.write(`${JSON.stringify({ contenders: figures })}\n`);
}
for (const contender of contenders) contender.close();
rmSync(scratch, { recursive: true });
