/** `seekrl index build`: a corpus becomes an index folder. */
import { z } from "zod";
import type { BuildIndexOptions } from "../../../../lib/search/index-folder/build/build.ts";
import { languages } from "../../../../lib/text/analysis/languages.ts";
import { command, UsageError } from "../../command.ts";
import { fetchedFile } from "../../fetch/fetched-file.ts";
import { modelFolder } from "../../fields.ts";
import {
  embedderOf,
  encoderOptions,
  splitOf,
  splitOptions,
  withIndexProgress,
} from "../../options/index-options.ts";

const options = z.strictObject({
  corpus: z
    .string()
    .describe("file or folder: JSON Lines, JSON, TSV, parquet, text; gzip too; a file's address is fetched"),
  out: z.string().describe("folder to write"),
  language: z
    .enum(languages)
    .default("auto")
    .describe(
      "of the texts, as in de: whose stop words and endings do not count; auto: by each word's script",
    ),
  bm25: z.boolean().default(true).describe("leaves out the index by words"),
  k1: z.number().min(0).default(1.2).describe("BM25: how soon repetitions stop counting"),
  b: z.number().min(0).max(1).default(0.75).describe("BM25: how much length counts"),
  dense: z
    .enum(["none", "auto", "exact", "hnsw"])
    .default("auto")
    .describe("index by vectors; auto: hnsw beyond 100,000 passages"),
  embedder: modelFolder(
    z
      .string()
      .default("hashed")
      .describe("hashed, which needs no model, or an encoder's folder or name on the hub"),
  ),
  ...encoderOptions,
  dim: z.int().min(1).default(512).describe("hashed embedder: width of a vector"),
  dtype: z.enum(["f32", "bf16", "i8", "b1"]).default("bf16").describe("vectors: stored form"),
  ...splitOptions,
  part: z.string().optional().describe("i/n: builds the i-th of n shares of the corpus, for index merge"),
  resume: z.boolean().default(false).describe("goes on with a build that was interrupted"),
});

function partOf(part: string | undefined): Pick<BuildIndexOptions, "part"> {
  if (part === undefined) return {};
  const [, index, count] = /^(\d+)\/(\d+)$/.exec(part) ?? [];
  if (index === undefined) throw new UsageError(`--part: expected i/n, as in 3/10, got ${part}`);
  return { part: { index: Number(index), count: Number(count) } };
}

/** The command. */
export const indexBuildCommand = command({
  name: "index build",
  summary: "builds a search index from a corpus: by words, by vectors, or both",
  options,
  run: async ({ corpus, out, language, bm25, k1, b, dense, dim, dtype, part, resume, ...given }, io) => {
    const { buildIndex } = await import("../../../../lib/search/index-folder/build/build.ts");
    const { countLive } = await import("../../../../lib/search/index-folder/manifest.ts");
    const embedder = embedderOf(given);
    const source = await fetchedFile(corpus, io);
    const [manifest, seconds] = await withIndexProgress(io, (listener) =>
      buildIndex({
        ...{ corpus: source, out, resume, ...listener, ...partOf(part), ...splitOf(given) },
        language,
        bm25: bm25 && { k1, b },
        dense: dense !== "none" && { embedder, kind: dense, dim, dtype },
      }),
    );
    const passages = countLive(manifest);
    const { recall } = manifest.segments[0] ?? {};
    const found = recall === undefined ? "" : `, recall@10 of the vectors ${recall.toFixed(3)}`;
    io.write(`${passages} passages in ${out} (${seconds.toFixed(1)} s)${found}\n`);
    io.result({ out, passages, settings: manifest.settings, recall: recall ?? null, seconds });
  },
});
