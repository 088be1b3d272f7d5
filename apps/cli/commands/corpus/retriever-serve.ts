/** `seekrl retriever serve`: an index as a service. */
import { basename } from "node:path";
import { z } from "zod";
import {
  defaultLimits,
  type RetrieverOptions,
  type ServedEmbedder,
} from "../../../serve/retriever/options.ts";
import { command, UsageError, untilStopped } from "../../command.ts";
import { deviceName, modelFolder } from "../../fields.ts";
import { openUnbatchedSearch, searchOptions } from "../../options/search-options.ts";
import { keyVariable, servedAt, serveOptions } from "../../options/serve-options.ts";

const limit = (key: keyof typeof defaultLimits, help: string): z.ZodDefault<z.ZodInt> =>
  z.int().min(1).default(defaultLimits[key]).describe(help);

const options = z.strictObject({
  ...searchOptions,
  encoder: modelFolder(z.string().optional().describe("encoder folder to serve under /v1/embeddings")),
  encoderName: z.string().optional().describe("its name there; the folder's unless given"),
  encoderDtype: z.enum(["float32", "bfloat16"]).default("float32").describe("form of its weights"),
  encoderWeights: z.enum(["int8"]).optional().describe("quantises its layers' weights"),
  encoderDevice: deviceName.default("cpu").describe("what it runs on: cpu or cuda"),
  ...serveOptions(8000),
  topK: z.int().min(1).default(3).describe("passages per query when a request names no number"),
  contents: z
    .enum(["quoted", "spaced"])
    .optional()
    .describe("form of contents; as each protocol's original does unless given"),
  blankQueries: z
    .enum(["refuse", "answer"])
    .default("refuse")
    .describe("a blank query in a batch: refuse the request, or answer it with no passages"),
  failedQueries: z
    .enum(["refuse", "answer"])
    .default("refuse")
    .describe("a query of a batch whose search fails: refuse the request, or answer it with no passages"),
  maxBodyBytes: limit("maxBodyBytes", "bytes of a request"),
  maxQueries: limit("maxQueries", "queries of a request"),
  maxQueryChars: limit("maxQueryChars", "characters of a query"),
  maxTopK: limit("maxTopK", "passages per query"),
  maxHits: limit("maxHits", "passages of an answer"),
  maxWaiting: limit("maxWaiting", "queries answered at once; more are refused with 429"),
  timeoutMs: limit("timeoutMs", "time for a request, milliseconds; later is 504"),
  maxBatch: z.int().min(1).default(256).describe("queries searched together at most"),
  maxCached: z.int().min(0).default(1024).describe("results kept"),
});

function retrieverOptions(given: z.output<typeof options>): Omit<RetrieverOptions, "search"> {
  const { topK, contents, blankQueries, failedQueries, maxBatch, maxCached } = given;
  const limits = Object.fromEntries(
    Object.keys(defaultLimits).map((key) => [key, given[key as keyof typeof defaultLimits]]),
  );
  return { topK, contents, blankQueries, failedQueries, limits, batch: { maxBatch, maxCached } };
}

/** The encoder, if one is asked for, and what closes it. */
async function openEmbedding({
  encoder: folder,
  encoderName,
  encoderDtype,
  encoderWeights,
  encoderDevice: device,
}: z.output<typeof options>): Promise<{ embedding?: ServedEmbedder; close(): unknown }> {
  if (folder === undefined) {
    if (device === "cpu") return { close: () => undefined };
    throw new UsageError(`--encoder-device: expected with --encoder, got ${device} alone`);
  }
  const { Encoder } = await import("../../../../lib/search/embed/encoder.ts");
  const embedder = await Encoder.open(folder, { dtype: encoderDtype, weights: encoderWeights, device });
  return {
    embedding: { model: encoderName ?? basename(folder), embedder },
    close: () => embedder.close(),
  };
}

/** The command. */
export const retrieverServeCommand = command({
  name: "retriever serve",
  summary: `serves an index, another server or a web search over HTTP until it is told to stop; a key in ${keyVariable} is asked of every client`,
  options,
  isService: true,
  run: async (given, io) => {
    const { serveRetriever } = await import("../../../serve/retriever/retriever-server.ts");
    const { embedding, close } = await openEmbedding(given);
    const opened = openUnbatchedSearch(given);
    const search = opened.then((each) => each.search);
    // A port that cannot be had is reported first.
    search.catch(() => {});
    const server = await serveRetriever({
      ...{ search, ...retrieverOptions(given), ...servedAt(given, io), embedding },
    });
    try {
      await server.ready;
      const { url, host, port } = server;
      const { index, retriever, shards, web } = given;
      const served = index?.folder ?? retriever?.url ?? shards?.urls ?? web?.engine;
      io.write(`${served} at ${url}\n`);
      io.result({ url, host, port });
      await untilStopped(io);
    } finally {
      await server.close({ graceMs: given.graceMs });
      await close();
      (await opened)[Symbol.dispose]();
    }
  },
});
