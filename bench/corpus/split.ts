/**
 * How fast do documents become 100-word passages, and a store of them, and in how much memory?
 *
 * `node dist/bench/corpus/split.js [--documents 100000] [--folder FOLDER] [--form jsonl]`: documents of KILT's form with
 * 1,000 words each, made once in the folder; the peer is split_peer.py, which does what the published script does.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeFileAtomic } from "../../lib/base/files/files.ts";
import { Dice } from "../../lib/base/random.ts";
import { PassageStore } from "../../lib/search/corpus/passage-store.ts";
import { reportOf } from "../../lib/search/corpus/report.ts";
import { splitCorpus } from "../../lib/search/corpus/split-job.ts";

const { values } = parseArgs({
  options: {
    documents: { type: "string", default: "100000" },
    folder: { type: "string", default: "." },
    form: { type: "string", default: "jsonl" },
  },
});
const numDocuments = Number(values.documents);
const input = join(values.folder, `kilt-${numDocuments}.jsonl`);
const dice = new Dice(1, 0);
const letters = "etaoinshrdlucmfwypvbgkqjxzéü";
const word = (): string =>
  Array.from(
    { length: 2 + dice.below(8) },
    () => letters[Math.floor(dice.next() ** 2 * letters.length)],
  ).join("");

function* documents(): Generator<string> {
  const words = Array.from({ length: 50_000 }, word);
  const text = (count: number): string =>
    Array.from({ length: count }, () => words[Math.floor(dice.next() ** 3 * words.length)]).join(" ");
  for (let i = 0; i < numDocuments; i += 1) {
    const paragraphs = Array.from({ length: 10 }, () => `${text(100)}.\n`);
    yield `${JSON.stringify({ wikipedia_id: `${i}`, wikipedia_title: text(2), text: ["Section::::Life.\n", ...paragraphs] })}\n`;
  }
}

/** Wall and processor seconds of some work. */
async function timed<Result>(
  work: () => Promise<Result>,
): Promise<[Result, { seconds: number; cpu: number }]> {
  const [began, before] = [performance.now(), process.cpuUsage()];
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return [result, { seconds: (performance.now() - began) / 1000, cpu: (user + system) / 1e6 }];
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex").slice(0, 16);
}

const show = (what: string, result: object): void =>
  void process.stdout.write(
    `${JSON.stringify({ what, ...result, maxRssMb: process.resourceUsage().maxRSS >> 10 })}\n`,
  );

if (!existsSync(input)) await writeFileAtomic(input, documents());
const { size } = await stat(input);
const form = values.form === "store" ? "store" : "jsonl";
const out = join(values.folder, form === "store" ? "passages.bin" : "passages.jsonl");
const [{ report }, split] = await timed(() => splitCorpus({ input, out, form, ids: "running" }));
const rate = {
  passagesPerSecond: Math.round(report.numPassages / split.seconds),
  passagesPerCpuSecond: Math.round(report.numPassages / split.cpu),
  megabytesPerSecond: Math.round(size / 1e6 / split.seconds),
};
show(`split to ${form}`, { ...split, ...rate, numPassages: report.numPassages, sha256: await sha256(out) });

if (form === "store") {
  const [, checked] = await timed(async () => (await PassageStore.open(out)).close());
  show("open, every byte checked", checked);
  const [store, trusted] = await timed(() => PassageStore.open(out, { verify: false }));
  show("open a file known to be good", trusted);
  const numbers = Int32Array.from({ length: 100 }, () => dice.below(store.size));
  const [, look] = await timed(async () => {
    for (let i = 0; i < 1000; i += 1) await store.getMany(numbers);
  });
  show("look up 100,000 passages, 100 at a time", look);
  const [, reported] = await timed(() => reportOf(store));
  show("report on all passages", reported);
  store.close();
}
