/**
 * What do 10,000 open connections cost those who ask, and is each of them answered?
 *
 * `npm run bench -- serve/load/connections [--model world/checkpoint] [--connections 10000] [--clients 64] [--rounds 3]`:
 * 64 streams are taken with and without the connections beside them, in turn; then every connection asks once within ten
 * seconds, and once at the same moment as all others. Both processes need that many open files (`ulimit -n`).
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { questionOf, temperature } from "./asked.ts";
import { Client, chatText, requestText } from "./client.ts";
import { figuresOf, leftovers, lines, median, type Served, serve, worldModel } from "./served.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: worldModel },
    connections: { type: "string", default: "10000" },
    clients: { type: "string", default: "64" },
    rounds: { type: "string", default: "3" },
  },
});

/** Connections that are opened at once; a listening socket's queue is bounded. */
const openedAtOnce = 200;

async function opened({ url }: Served, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(openedAtOnce, count - sockets.length) }, () =>
      connect(Number(url.port), url.hostname),
    );
    await Promise.all(some.map((socket) => once(socket, "connect")));
    sockets.push(...some);
  }
  return sockets;
}

interface Rate {
  readonly tokensPerSecond: number;
  readonly cpuMicros: number;
  readonly loopP99Ms: number;
}

async function streams(served: Served): Promise<Rate> {
  const before = await figuresOf(served);
  const started = performance.now();
  const client = async (_: unknown, i: number): Promise<number> => {
    const client = new Client(served.url);
    const body = { max_tokens: 128, temperature, seed: i };
    const { status, numTokens } = await client.stream(chatText(questionOf(i, 0), body));
    if (status !== 200) throw new Error(`status ${status}`);
    client.close();
    return numTokens;
  };
  const lengths = await Promise.all(Array.from({ length: Number(values.clients) }, client));
  const numTokens = lengths.reduce((sum, length) => sum + length, 0);
  const seconds = (performance.now() - started) / 1000;
  const after = await figuresOf(served);
  return {
    tokensPerSecond: numTokens / seconds,
    cpuMicros: (1e6 * (after(lines.cpu) - before(lines.cpu))) / numTokens,
    loopP99Ms: 1000 * after(lines.loopP99),
  };
}

/** Asks once on each connection, within so many milliseconds. @returns how many answers had status 200 */
async function askAll(sockets: readonly Socket[], withinMs: number): Promise<number> {
  const text = requestText("/tokenize", { content: "who directed Nightwinter" });
  const answers = sockets.map(async (socket, i) => {
    if (withinMs > 0) await sleep((withinMs * i) / sockets.length);
    const data = once(socket, "data") as Promise<[Buffer]>;
    socket.write(text);
    return Number((await data)[0].toString("latin1", 9, 12)) === 200;
  });
  return (await Promise.all(answers)).filter(Boolean).length;
}

await using served = await serve(values.model);
await streams(served);
const bare = (await figuresOf(served))(lines.rss);
const [alone, beside]: [Rate[], Rate[]] = [[], []];
let [numAnswered, rss] = [0, 0];
const asked = [
  { withinMs: 10_000, loopP99Ms: 0, loopMaxMs: 0 },
  { withinMs: 0, loopP99Ms: 0, loopMaxMs: 0 },
];
for (let round = 0; round < Number(values.rounds); round++) {
  alone.push(await streams(served));
  const sockets = await opened(served, Number(values.connections));
  rss = Math.max(rss, (await figuresOf(served))(lines.rss));
  beside.push(await streams(served));
  await figuresOf(served);
  for (const asking of asked) {
    numAnswered += await askAll(sockets, asking.withinMs);
    const figure = await figuresOf(served);
    asking.loopP99Ms = Math.max(asking.loopP99Ms, 1000 * figure(lines.loopP99));
    asking.loopMaxMs = Math.max(asking.loopMaxMs, 1000 * figure(lines.loopMax));
  }
  for (const socket of sockets) socket.destroy();
}
const middle = (rates: readonly Rate[], key: keyof Rate): number => median(rates.map((rate) => rate[key]));
const ratios = beside.map(({ tokensPerSecond }, i) => tokensPerSecond / alone[i]!.tokensPerSecond);
const due = 2 * Number(values.rounds) * Number(values.connections);
process.stdout.write(`| | ${values.clients} streams alone | beside ${values.connections} connections |
|---|---|---|
| tokens/s | ${middle(alone, "tokensPerSecond").toFixed(0)} | ${middle(beside, "tokensPerSecond").toFixed(0)} |
| ratio, median and worst | | ${median(ratios).toFixed(2)}, ${Math.min(...ratios).toFixed(2)} |
| server CPU us/token | ${middle(alone, "cpuMicros").toFixed(1)} | ${middle(beside, "cpuMicros").toFixed(1)} |
| loop p99 ms | ${middle(alone, "loopP99Ms").toFixed(1)} | ${middle(beside, "loopP99Ms").toFixed(1)} |

connections that asked and were answered: ${numAnswered} of ${due}
${asked.map(({ withinMs, loopP99Ms, loopMaxMs }) => `event loop while all ask within ${withinMs} ms, worst round: p99 ${loopP99Ms.toFixed(1)} ms, longest ${loopMaxMs.toFixed(1)} ms`).join("\n")}
memory: ${((rss - bare) / Number(values.connections) / 1024).toFixed(1)} KiB a connection
left behind: ${JSON.stringify(await leftovers(served))}
`);
