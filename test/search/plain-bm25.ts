/** BM25 as an independent float64 implementation has it, and corpora of made-up words. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { Bm25Builder, type Bm25BuildOptions, Bm25Index } from "../../lib/search/bm25.ts";
import { randomFrom } from "../dice.ts";

export const folder = await mkdtemp(join(tmpdir(), "seekrl-bm25-"));
after(() => rm(folder, { recursive: true }));

let numBuilt = 0;

export async function built(texts: readonly string[], options: Bm25BuildOptions = {}): Promise<Bm25Index> {
  const builder = new Bm25Builder(options);
  for (let at = 0; at < texts.length; at += 64) await builder.add(texts.slice(at, at + 64));
  const path = join(folder, `index-${numBuilt++}`);
  await builder.save(path);
  builder.close();
  return Bm25Index.open(path);
}

/** Passages of 1 to 80 words, common ones and rare ones, from a seed. */
export function wordyTexts(count: number, seed: number): string[] {
  const random = randomFrom(seed);
  const word = (): string => `w${Math.floor(20_000 ** random())}`;
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + Math.floor(80 * random()) }, word).join(" "),
  );
}

/** All scores by the formula, in float64. */
export function plainBm25(corpus: readonly string[], query: string, topK: number): [number, number][] {
  const passages = corpus.map((text) => text.split(" "));
  const average = passages.reduce((sum, { length }) => sum + length, 0) / passages.length;
  const scores = passages.map(() => 0);
  for (const term of query.split(" ")) {
    const frequencies = passages.map((words) => words.filter((word) => word === term).length);
    const df = frequencies.filter((tf) => tf > 0).length;
    const idf = Math.log(1 + (passages.length - df + 0.5) / (df + 0.5));
    for (const [i, tf] of frequencies.entries()) {
      if (tf === 0) continue;
      const length = passages[i]?.length ?? 0;
      scores[i] = (scores[i] ?? 0) + idf * (tf / (tf + 1.2 * (1 - 0.75 + (0.75 * length) / average)));
    }
  }
  const ranked = scores.map((score, i): [number, number] => [i, score]).filter(([, score]) => score > 0);
  return ranked.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, topK);
}
