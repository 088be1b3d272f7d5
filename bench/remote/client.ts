/**
 * What do schema, retries, breaker and deadlines cost a client of a retrieval server, against a bare `fetch`?
 *
 * `npm run bench -- remote/client [--clients 32] [--seconds 2] [--rounds 5] [--top-k 5]`: single queries by so many at
 * once to a server in another process, which answers from memory. The processor time of this process per query is the
 * figure to compare.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { remoteSearch } from "../../connectors/remote/remote-search.ts";

const { values } = parseArgs({
  options: {
    serve: { type: "boolean", default: false },
    clients: { type: "string", default: "32" },
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "5" },
    "top-k": { type: "string", default: "5" },
  },
});
const [numClients, seconds, numRounds, topK] = [
  values.clients,
  values.seconds,
  values.rounds,
  values["top-k"],
].map(Number) as [number, number, number, number];

/** A hundred words, as in the usual split of Wikipedia. */
const contents = `"A title"\n${"river ".repeat(100)}`;

async function serve(): Promise<void> {
  const document = (id: number) => ({ document: { id: String(id), contents }, score: 1 - id / 100 });
  const answer = JSON.stringify({ result: [Array.from({ length: topK }, (_, i) => document(i))] });
  const server = createServer((request, response) => {
    request
      .resume()
      .on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(answer));
  });
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  });
}

type Ask = (query: string) => Promise<unknown>;

function bareFetch(url: string): Ask {
  const headers = { "content-type": "application/json" };
  return async (query) => {
    const body = JSON.stringify({ queries: [query], topk: topK, return_scores: true });
    return (await fetch(`${url}/retrieve`, { method: "POST", headers, body })).json();
  };
}

interface Round {
  readonly rate: number;
  readonly cpuMicros: number;
}

async function measure(ask: Ask): Promise<Round> {
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  let count = 0;
  const client = async (): Promise<void> => {
    while (performance.now() - started < 1000 * seconds) {
      await ask(`query ${count}`);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: numClients }, client));
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (1000 * count) / (performance.now() - started), cpuMicros: (user + system) / count };
}

const median = (sample: readonly number[]): number =>
  [...sample].sort((a, b) => a - b)[Math.floor(sample.length / 2)] ?? Number.NaN;

async function run(child: ChildProcess): Promise<void> {
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  const url = String(line).trim();
  const search = remoteSearch({ url, transport: { maxConcurrent: numClients } });
  const asks: Record<string, Ask> = {
    "bare fetch": bareFetch(url),
    remoteSearch: (query) => search([query], { topK }),
  };
  const rounds: Record<string, Round[]> = { "bare fetch": [], remoteSearch: [] };
  for (let i = 0; i < numRounds + 1; i += 1) {
    for (const [name, ask] of Object.entries(asks)) {
      const round = await measure(ask);
      // The first one warms up.
      if (i > 0) rounds[name]?.push(round);
    }
  }
  process.stdout.write(
    "| client | queries/s | processor time of the client per query, us |\n|---|---|---|\n",
  );
  for (const [name, list] of Object.entries(rounds)) {
    const [rate, cpu] = [median(list.map((each) => each.rate)), median(list.map((each) => each.cpuMicros))];
    process.stdout.write(`| ${name} | ${rate.toFixed(0)} | ${cpu.toFixed(0)} |\n`);
  }
  const ratios = rounds.remoteSearch?.map(
    ({ cpuMicros }, i) => cpuMicros / (rounds["bare fetch"]?.[i]?.cpuMicros ?? 1),
  );
  process.stdout.write(
    `\nprocessor time, remoteSearch over bare fetch: ${median(ratios ?? []).toFixed(2)}\n`,
  );
  child.kill();
}

if (values.serve) await serve();
else
  await run(
    spawn(process.execPath, [fileURLToPath(import.meta.url), "--serve", "--top-k", String(topK)], {
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
