/** `seekrl index build`: a corpus becomes an index folder. */
import { z } from "zod";
import { command } from "./command.ts";
import { progressLine } from "./progress.ts";

/** The command. */
export const indexBuildCommand = command({
  name: "index build",
  summary: "builds a search index from a corpus",
  options: z.strictObject({
    corpus: z.string().describe("JSON Lines of {id, title, text} or {id, contents}"),
    out: z.string().describe("folder to write"),
    kind: z.enum(["bm25", "exact", "hnsw"]).default("bm25").describe("by words, or by vectors"),
    k1: z.number().min(0).default(1.2).describe("BM25: how soon repetitions stop counting"),
    b: z.number().min(0).max(1).default(0.75).describe("BM25: how much length counts"),
    dim: z.int().min(1).default(512).describe("vectors: width"),
    dtype: z.enum(["f32", "bf16", "i8"]).default("bf16").describe("vectors: stored form"),
  }),
  run: async ({ corpus, out, kind, k1, b, dim, dtype }, io) => {
    const { buildIndex } = await import("../search/build-index.ts");
    const started = performance.now();
    const progress = progressLine(io);
    const manifest = await buildIndex({
      corpus,
      out,
      kind,
      bm25: { k1, b },
      dense: { dim, dtype },
      onProgress: ({ stage, done, total }) => progress.show(`${stage}: ${done} of ${total} passages`),
      signal: io.signal,
    });
    progress.end();
    const seconds = (performance.now() - started) / 1000;
    io.write(`${manifest.count} passages in ${out} (${kind}, ${seconds.toFixed(1)} s)\n`);
    io.result({ out, kind, passages: manifest.count, seconds });
  },
});
