/**
 * How much of the engine's own throughput is left over HTTP, with so many streams at once?
 *
 * `npm run bench -- serve/load/streams [--model world/checkpoint] [--clients 64,512] [--requests 4] [--max-tokens 128]
 * [--rounds 5]`: clients are this process, the server and the engine without one are others and take
 * turns. Prompts, seeds and lengths are the same, and so are the sampled tokens, which is checked.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { questionOf, seedOf, temperature } from "./asked.ts";
import { Client, chatText } from "./client.ts";
import type { EngineRate, EngineRound } from "./engine.ts";
import { figuresOf, leftovers, lines, median, quantile, type Served, serve, worldModel } from "./served.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: worldModel },
    clients: { type: "string", default: "64,512" },
    requests: { type: "string", default: "4" },
    "max-tokens": { type: "string", default: "128" },
    rounds: { type: "string", default: "5" },
  },
});
const [numRounds, maxTokens] = [Number(values.requests), Number(values["max-tokens"])];

interface Rate extends EngineRate {
  readonly clientCpuSeconds: number;
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  readonly firstP50Ms: number;
  readonly firstP99Ms: number;
  readonly numChunkBytes: number;
}

async function overHttp(served: Served, numClients: number): Promise<Rate> {
  const before = await figuresOf(served);
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  let [numTokens, numBytes] = [0, 0];
  const firsts: number[] = [];
  const client = async (_: unknown, i: number): Promise<void> => {
    const client = new Client(served.url);
    for (let round = 0; round < numRounds; round += 1) {
      const body = { max_tokens: maxTokens, temperature, seed: seedOf(i, round) };
      const answer = await client.stream(chatText(questionOf(i, round), body));
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      numTokens += answer.numTokens;
      numBytes += answer.numBytes;
      firsts.push(answer.firstMs);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: numClients }, client));
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const after = await figuresOf(served);
  return {
    promptLookup: true,
    ...{ numTokens, seconds, clientCpuSeconds: (user + system) / 1e6, numChunkBytes: numBytes / numTokens },
    cpuSeconds: after(lines.cpu) - before(lines.cpu),
    loopP99Ms: 1000 * after(lines.loopP99),
    loopMaxMs: 1000 * after(lines.loopMax),
    firstP50Ms: quantile(firsts, 0.5),
    firstP99Ms: quantile(firsts, 0.99),
  };
}

async function ofEngine(child: ChildProcess, round: EngineRound): Promise<EngineRate> {
  child.stdin?.write(`${JSON.stringify(round)}\n`);
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  return JSON.parse(String(line)) as EngineRate;
}

async function startEngine(): Promise<ChildProcess> {
  const program = join(dirname(fileURLToPath(import.meta.url)), "engine.js");
  const child = spawn(process.execPath, [program, values.model], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

await using served = await serve(values.model);
const engine = await startEngine();
const rateOf = ({ numTokens, seconds }: EngineRate): number => numTokens / seconds;
const micros = (seconds: number, { numTokens }: EngineRate): number => (1e6 * seconds) / numTokens;
process.stdout.write(
  "| streams | engine tok/s | over HTTP tok/s | ratio | worst ratio | engine CPU us/token | server CPU us/token | clients CPU us/token | bytes/token | loop p99 ms | loop max ms | first token p50 ms | p99 ms |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
);
for (const numClients of values.clients.split(",").map(Number)) {
  const [https, engines]: [Rate[], EngineRate[]] = [[], []];
  for (let i = 0; i <= Number(values.rounds); i += 1) {
    const direct = await ofEngine(engine, { numClients, numRounds, maxTokens });
    const http = await overHttp(served, numClients);
    if (http.numTokens !== direct.numTokens)
      throw new Error(`${http.numTokens} for ${direct.numTokens} tokens`);
    // The first one warms up.
    if (i > 0) {
      https.push(http);
      engines.push(direct);
    }
  }
  const ratios = https.map((each, i) => rateOf(each) / rateOf(engines[i]!));
  const of = (read: (rate: Rate) => number, digits = 1): string => median(https.map(read)).toFixed(digits);
  const row = [
    numClients,
    median(engines.map(rateOf)).toFixed(0),
    of(rateOf, 0),
    median(ratios).toFixed(2),
    Math.min(...ratios).toFixed(2),
    median(engines.map((each) => micros(each.cpuSeconds, each))).toFixed(1),
    of((each) => micros(each.cpuSeconds, each)),
    of((each) => micros(each.clientCpuSeconds, each)),
    of((each) => each.numChunkBytes, 0),
    of((each) => each.loopP99Ms),
    of((each) => each.loopMaxMs),
    of((each) => each.firstP50Ms),
    of((each) => each.firstP99Ms),
  ];
  process.stdout.write(`| ${row.join(" | ")} |\n`);
}
engine.kill();
const left = await leftovers(served);
process.stdout.write(`left behind: ${JSON.stringify(left)}\n`);
