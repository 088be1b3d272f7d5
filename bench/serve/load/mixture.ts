/**
 * Is anything lost, stuck or leaked when clients of every kind come at once?
 *
 * `npm run bench -- serve/load/mixture [--model world/checkpoint] [--minutes 1] [--pause-ms 0]`: 32 clients take their
 * streams, 8 take them slowly, 16 leave at random moments and 4 send malformed bodies, again and again, with a pause
 * between two visits. Memory and event loop are the server's own figures.
 */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Dice } from "../../../lib/base/random.ts";
import { figuresOf, leftovers, lines, median, serve, worldModel } from "./served.ts";
import { type Visit, visits } from "./visitors.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: worldModel },
    minutes: { type: "string", default: "1" },
    "pause-ms": { type: "string", default: "0" },
  },
});
const clients = { reads: 32, readsSlowly: 8, leaves: 16, errs: 4 } as const;
const numIdle = 200;

/** A visit that has not ended by then is stuck. */
const stuckMs = 120_000;

await using served = await serve(values.model);
const end = performance.now() + 60_000 * Number(values.minutes);
const counts: Record<string, { ended: number; wrong: number }> = {};

async function come(kind: keyof typeof clients, seed: number): Promise<void> {
  const [visit, dice]: [Visit, Dice] = [visits[kind], new Dice(seed, kind.length)];
  counts[kind] ??= { ended: 0, wrong: 0 };
  const count = counts[kind];
  while (performance.now() < end) {
    const stuck = sleep(stuckMs, "stuck", { ref: false });
    const wrong = await Promise.race([visit(served.url, dice), stuck]).catch(String);
    count.ended += 1;
    if (wrong !== undefined) {
      count.wrong += 1;
      process.stdout.write(`${kind}: ${wrong}\n`);
    }
    await sleep(2 * dice.next() * Number(values["pause-ms"]));
  }
}

/** Once a tenth of the time, at least ten seconds apart. */
async function watch(): Promise<[minute: number, mebibytes: number][]> {
  const samples: [number, number][] = [];
  const started = performance.now();
  const every = Math.max(10_000, Math.min(60_000, 6000 * Number(values.minutes)));
  process.stdout.write(
    "| minute | RSS, MiB | loop p99 ms | loop max ms | sequences | blocks used |\n|---|---|---|---|---|---|\n",
  );
  while (performance.now() + every <= end) {
    await sleep(every);
    const figure = await figuresOf(served);
    const minute = (performance.now() - started) / 60_000;
    samples.push([minute, figure(lines.rss) / 2 ** 20]);
    const row = [
      minute.toFixed(1),
      (figure(lines.rss) / 2 ** 20).toFixed(1),
      (1000 * figure(lines.loopP99)).toFixed(1),
      (1000 * figure(lines.loopMax)).toFixed(1),
      ...[figure(lines.sequences), figure(lines.usedBlocks)],
    ];
    process.stdout.write(`| ${row.join(" | ")} |\n`);
  }
  return samples;
}

const idle = Array.from({ length: numIdle }, () => connect(Number(served.url.port), served.url.hostname));
for (const socket of idle) socket.on("error", (error) => process.stdout.write(`idle: ${error}\n`));
const kinds = Object.keys(clients) as (keyof typeof clients)[];
const coming = kinds.flatMap((kind) => Array.from({ length: clients[kind] }, (_, i) => come(kind, i)));
const samples = await watch();
await Promise.all(coming);
for (const socket of idle) socket.destroy();
for (const [kind, { ended, wrong }] of Object.entries(counts)) {
  process.stdout.write(`${kind}: ${ended} visits, ${wrong} wrong\n`);
}
const third = Math.ceil(samples.length / 3);
const [early, late] = [samples.slice(third, 2 * third), samples.slice(-third)].map((part) =>
  median(part.map(([, mebibytes]) => mebibytes)),
) as [number, number];
process.stdout.write(`memory, last third beside the second: ${late.toFixed(1)} / ${early.toFixed(1)} MiB\n`);
process.stdout.write(`left behind: ${JSON.stringify(await leftovers(served))}\n`);
