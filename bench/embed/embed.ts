/**
 * How many tokens a second does an encoder embed, and how long does one query take, against sentence-transformers and
 * transformers.js on the same texts?
 *
 * `node dist/bench/embed/embed.js MODEL_FOLDER TEXTS_JSON [--sample 1] [--rounds 3] [--queries 20] [--peers st,st-bf16,js]`; the
 * folder is what make_models.py writes. SEEKRL_PYTHON names a Python with sentence-transformers, SEEKRL_PEER_MODULES a
 * node_modules with @huggingface/transformers. One thread for all: run it under `taskset -c 0` with OMP_NUM_THREADS=1.
 * `--sample 4` takes every fourth batch of 32 in order of length, which leaves the peers' padding as it is with all.
 * Rounds are interleaved; the ratio of processor time is the one that other work on the machine leaves alone.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Encoder } from "../../lib/embed/encoder.ts";
import { textRow } from "../../lib/embed/token-batch.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "1" },
    rounds: { type: "string", default: "3" },
    queries: { type: "string", default: "20" },
    peers: { type: "string", default: "st,st-bf16,js" },
  },
});
const [folder = "", textsFile = ""] = positionals;
const all = JSON.parse(readFileSync(textsFile, "utf8")) as { passages: string[]; queries: string[] };
const batchSize = 32;
const byLength = [...all.passages].sort((a, b) => b.length - a.length);
const texts = {
  queries: all.queries,
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

async function ours(dtype: "float32" | "bfloat16"): Promise<Contender> {
  const encoder = await Encoder.open(folder, { dtype });
  const run = async (line: string): Promise<Timing> => {
    const [what, index] = line.split(" ");
    const cpu = process.cpuUsage();
    const started = performance.now();
    const vectors =
      what === "passages"
        ? await encoder.embedPassages(texts.passages.slice(0, Number(index)))
        : await encoder.embedQueries([texts.queries[Number(index)] ?? ""]);
    const seconds = (performance.now() - started) / 1000;
    const used = process.cpuUsage(cpu);
    return { seconds, cpu: (used.user + used.system) / 1e6, first: [...vectors.subarray(0, 4)] };
  };
  return { name: `seekrl ${dtype}`, run, close: () => encoder.close() };
}

function peer(name: string, command: string, options: readonly string[]): Contender {
  const child = spawn(command, options, { stdio: ["pipe", "pipe", "ignore"] });
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
const makers: Readonly<Record<string, () => Contender>> = {
  st: () => peer("sentence-transformers f32", python, [join(here, "peer.py"), folder, chosenFile, "float32"]),
  "st-bf16": () =>
    peer("sentence-transformers bf16", python, [join(here, "peer.py"), folder, chosenFile, "bfloat16"]),
  js: () =>
    peer("transformers.js f32", process.execPath, [
      join(here, "peer.mjs"),
      process.env.SEEKRL_PEER_MODULES ?? "node_modules",
      folder,
      chosenFile,
    ]),
};

const median = (sample: readonly number[]): number =>
  [...sample].sort((a, b) => a - b)[Math.floor(sample.length / 2)] ?? Number.NaN;

async function measure(
  contenders: readonly Contender[],
  lines: readonly string[],
): Promise<Map<string, Timing[]>> {
  const timings = new Map(contenders.map(({ name }) => [name, [] as Timing[]]));
  for (const contender of contenders) await contender.run("passages 16");
  for (const line of lines) {
    for (const contender of contenders) timings.get(contender.name)?.push(await contender.run(line));
  }
  return timings;
}

async function tokenCount(): Promise<number> {
  const tokenizer = await Tokenizer.load(folder);
  const started = performance.now();
  const count = texts.passages.reduce((sum, text) => sum + textRow(tokenizer, text, 512).ids.length, 0);
  const seconds = (performance.now() - started) / 1000;
  process.stdout.write(
    `${count} tokens; tokenized at ${Math.round(count / seconds / 1000)}k tokens/s in JavaScript\n`,
  );
  return count;
}

const numTokens = await tokenCount();
const contenders = [
  await ours("float32"),
  await ours("bfloat16"),
  ...values.peers.split(",").flatMap((name) => (name === "" ? [] : [makers[name]?.()])),
].filter((each) => each !== undefined);
const passages = await measure(
  contenders,
  Array.from({ length: Number(values.rounds) }, () => `passages ${texts.passages.length}`),
);
const queries = await measure(
  contenders,
  Array.from({ length: Number(values.queries) }, (_, i) => `query ${i % texts.queries.length}`),
);
process.stdout.write(
  "| | tokens/s | tokens/CPU s | query ms, median | query CPU ms | first values |\n|---|---|---|---|---|---|\n",
);
for (const { name } of contenders) {
  const whole = passages.get(name) ?? [];
  const single = queries.get(name) ?? [];
  const cells = [
    Math.round(numTokens / median(whole.map(({ seconds }) => seconds))),
    Math.round(numTokens / median(whole.map(({ cpu }) => cpu))),
    (1000 * median(single.map(({ seconds }) => seconds))).toFixed(1),
    (1000 * median(single.map(({ cpu }) => cpu))).toFixed(1),
    (whole[0]?.first ?? []).map((value) => value.toFixed(4)).join(" "),
  ];
  process.stdout.write(`| ${name} | ${cells.join(" | ")} |\n`);
}
for (const contender of contenders) contender.close();
rmSync(scratch, { recursive: true });
