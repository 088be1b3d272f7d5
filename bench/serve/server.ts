/** The server of the benchmark, in a process of its own: random vectors, an index over them, passages of 100 words. */

import { serveRetriever } from "../../apps/serve/retriever/retriever-server.ts";
import { Dice } from "../../lib/base/random.ts";
import type { BatchOptions } from "../../lib/search/batching/batcher.ts";
import type { Embedder } from "../../lib/search/embed/embedder.ts";
import { Encoder } from "../../lib/search/embed/encoder.ts";
import { HashedEmbedder } from "../../lib/search/embed/hashed-embedder.ts";
import type { Search } from "../../lib/search/search.ts";
import { VectorIndex, type VectorIndexKind } from "../../lib/search/vector-index.ts";

/** What the parent process asks for, as JSON in the first argument. */
export interface ServerChoice {
  readonly kind: VectorIndexKind;
  readonly numPassages: number;
  readonly dim: number;
  readonly dtype: "f32" | "bf16" | "i8";
  /** Encodes the queries; without it words are hashed. */
  readonly encoder?: string;
  readonly batch: BatchOptions;
}

const text = Array.from({ length: 100 }, (_, i) => `word${i}`).join(" ");

async function openSearch({
  kind,
  numPassages,
  dim: hashedDim,
  dtype,
  encoder,
}: ServerChoice): Promise<Search> {
  const embedder: Embedder = encoder
    ? await Encoder.open(encoder, { dtype: "bfloat16" })
    : HashedEmbedder.create({ dim: hashedDim });
  const { dim } = embedder;
  const index = VectorIndex.create(kind, { dim, capacity: numPassages, dtype });
  const dice = new Dice(1, 0);
  const numPart = 10_000;
  for (let done = 0; done < numPassages; done += numPart) {
    await index.add(Float32Array.from({ length: numPart * dim }, () => dice.next() - 0.5));
  }
  return async (queries, { topK }) => {
    const { ids, scores } = await index.search(await embedder.embedQueries(queries), { topK });
    return queries.map((_, q) =>
      Array.from({ length: topK }, (_, rank) => {
        const id = ids[q * topK + rank] ?? -1;
        return { id: `${id}`, title: `Passage ${id}`, text, score: scores[q * topK + rank] ?? 0 };
      }),
    );
  };
}

const choice = JSON.parse(process.argv[2] ?? "{}") as ServerChoice;
const server = await serveRetriever({ search: await openSearch(choice), port: 0, batch: choice.batch });
process.stdout.write(`${server.url}\n`);
