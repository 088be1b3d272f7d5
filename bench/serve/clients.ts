/**
 * How many single-query requests a second does a server answer that gathers them into batches, against the same server
 * that searches for each alone?
 *
 * `npm run bench -- serve/clients [--kind exact|hnsw] [--passages 200000] [--dim 384] [--dtype bf16|f32|i8]
 * [--clients 32] [--seconds 3] [--rounds 5] [--encoder FOLDER] [--python PATH] [--json]`: the clients are this process, the
 * servers are others. No query repeats and nothing is cached. Queries are hashed, or encoded by `--encoder` in bfloat16.
 * With `--python`, bench/serve/server_peer.py (faiss, one search per request) is measured too. Servers are
 * asked in turns, in the other order every second time; `--json` adds a line of figures a round.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { ServerChoice } from "./server.ts";

const { values } = parseArgs({
  options: {
    kind: { type: "string", default: "exact" },
    passages: { type: "string", default: "200000" },
    dim: { type: "string", default: "384" },
    dtype: { type: "string", default: "bf16" },
    clients: { type: "string", default: "32" },
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "5" },
    encoder: { type: "string" },
    python: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const [numPassages, dim, numClients] = [values.passages, values.dim, values.clients].map(Number) as [
  number,
  number,
  number,
];
const here = dirname(fileURLToPath(import.meta.url));

/** A server under test. */
interface Server {
  readonly name: string;
  readonly child: ChildProcess;
  readonly url: URL;
  /** What each round gave. */
  readonly rounds: Round[];
}

interface Round {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** Processor time of the server per query, milliseconds. */
  readonly cpuMs: number;
  readonly batch: number;
  readonly loopP99Ms: number;
  /** The same of a server that nobody asks meanwhile: what the machine itself does to an event loop. */
  readonly idleLoopP99Ms: number;
}

async function start(name: string, program: string, ...args: string[]): Promise<Server> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { name, child, url: new URL(String(line).trim()), rounds: [] };
}

function startOurs(name: string, batch: ServerChoice["batch"]): Promise<Server> {
  const choice: ServerChoice = {
    kind: values.kind === "hnsw" ? "hnsw" : "exact",
    ...{ numPassages, dim, dtype: values.dtype as ServerChoice["dtype"] },
    batch: { maxCached: 0, ...batch },
    encoder: values.encoder,
  };
  return start(name, process.execPath, join(here, "server.js"), JSON.stringify(choice));
}

let numAsked = 0;

function ask(url: URL, agent: Agent): Promise<number> {
  numAsked += 1;
  const query = `who wrote book number ${numAsked} about rivers`;
  const body = JSON.stringify({ queries: [query], topk: 3, return_scores: true });
  const headers = { "content-type": "application/json", "content-length": body.length };
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(new URL("/retrieve", url), { method: "POST", agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`status ${answer.statusCode}`));
      answer.resume().on("end", () => resolve(performance.now() - started));
    });
    asked.on("error", reject).end(body);
  });
}

/** The figure of one metric, 0 where there is none. */
async function metricsOf(url: URL): Promise<(line: string) => number> {
  const text = await (await fetch(new URL("/metrics", url))).text();
  return (line) =>
    Number(
      text
        .split("\n")
        .find((each) => each.startsWith(line))
        ?.slice(line.length) ?? 0,
    );
}

const loopP99 = 'seekrl_event_loop_delay_seconds{quantile="0.99"} ';

async function measure(url: URL, idle: URL): Promise<Round> {
  const agent = new Agent({ keepAlive: true, maxSockets: numClients });
  const [before] = await Promise.all([metricsOf(url), metricsOf(idle)]);
  const [started, latencies] = [performance.now(), [] as number[]];
  const end = started + 1000 * Number(values.seconds);
  const client = async (): Promise<void> => {
    while (performance.now() < end) latencies.push(await ask(url, agent));
  };
  await Promise.all(Array.from({ length: numClients }, client));
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  const [after, afterIdle] = await Promise.all([metricsOf(url), metricsOf(idle)]);
  const grown = (line: string): number => after(line) - before(line);
  latencies.sort((a, b) => a - b);
  const at = (part: number): number => latencies[Math.floor(latencies.length * part)] ?? 0;
  return {
    ...{ rate: latencies.length / seconds, p50: at(0.5), p99: at(0.99) },
    cpuMs: (1000 * grown("process_cpu_seconds_total ")) / latencies.length,
    batch:
      grown('seekrl_batch_queries_sum{kind="search"} ') / grown('seekrl_batch_queries_count{kind="search"} '),
    loopP99Ms: 1000 * after(loopP99),
    idleLoopP99Ms: 1000 * afterIdle(loopP99),
  };
}

const median = (sample: readonly number[]): number =>
  [...sample].sort((a, b) => a - b)[Math.floor(sample.length / 2)] ?? Number.NaN;

function report({ name, rounds }: Server): string {
  const of = (key: keyof Round, digits: number): string =>
    median(rounds.map((each) => each[key])).toFixed(digits);
  const best = Math.max(...rounds.map(({ rate }) => rate)).toFixed(0);
  return `| ${name} | ${of("rate", 0)} | ${best} | ${of("p50", 1)} | ${of("p99", 1)} | ${of("cpuMs", 2)} | ${of("batch", 1)} | ${of("loopP99Ms", 1)} | ${of("idleLoopP99Ms", 1)} |`;
}

const peer = values.python
  ? [
      start(
        "Python, faiss, one by one",
        values.python,
        join(here, "../../../bench/serve/server_peer.py"),
        `${numPassages}`,
        `${dim}`,
      ),
    ]
  : [];
const servers = await Promise.all([
  startOurs("one by one", { maxBatch: 1 }),
  startOurs("batches, window 2 ms", { windowMs: 2 }),
  startOurs("batches, adaptive", {}),
  ...peer,
]);
for (const { url } of servers) await ask(url, new Agent());
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
    const [idle] = servers.filter((other) => other !== server);
    server.rounds.push(await measure(server.url, (idle ?? server).url));
  }
}
process.stdout.write(
  "| server | requests/s, median | best | p50 ms | p99 ms | CPU ms a query | queries a batch | event loop p99 ms | idle |\n" +
    `|---|---|---|---|---|---|---|---|---|\n${servers.map(report).join("\n")}\n`,
);
const [alone, , together] = servers.map(({ rounds }) => median(rounds.map(({ rate }) => rate)));
process.stdout.write(`${((together ?? 0) / (alone ?? 1)).toFixed(1)} times the rate of one by one\n`);
for (let round = 0; values.json && round < Number(values.rounds); round += 1) {
  const contenders = Object.fromEntries(servers.map(({ name, rounds }) => [name, rounds[round]]));
  process.stdout.write(`${JSON.stringify({ contenders })}\n`);
}
for (const { child } of servers) child.kill();
