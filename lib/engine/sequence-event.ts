/** The events of a sequence, and the span that they add up to. */
import type { FullOptions, Span, SpanChunk, SpanStop, VersionRun } from "./span.ts";

/** What a step of the engine gave a sequence: tokens, and why the span ended if it did. */
export interface SequenceEvent extends SpanChunk {
  readonly finish: "length" | "stopId" | "stopString" | "aborted" | "failed" | undefined;
  readonly stopIndex: number;
  readonly cutBytes: number;
  readonly weightsVersion: number;
  readonly error: Error | undefined;
}

/** Adds an event's tokens to the runs of a span. */
export function addToRuns(
  runs: readonly VersionRun[],
  { ids: { length: numTokens }, weightsVersion }: Pick<SequenceEvent, "ids" | "weightsVersion">,
): readonly VersionRun[] {
  const last = runs.at(-1);
  if (numTokens === 0) return runs;
  if (last?.weightsVersion !== weightsVersion) return [...runs, { weightsVersion, numTokens }];
  return [...runs.slice(0, -1), { weightsVersion, numTokens: last.numTokens + numTokens }];
}

/** The span that the chunks and the last event make. */
export function toSpan(
  {
    chunks,
    versionRuns,
  }: { readonly chunks: readonly SpanChunk[]; readonly versionRuns: readonly VersionRun[] },
  options: FullOptions,
  event: SequenceEvent,
  home: {
    readonly vocabulary: { readonly eosIds: readonly number[] };
    readonly cacheDtype: "e4m3" | undefined;
  },
): Span {
  const ids = joinIds(chunks, "ids");
  const { cutBytes, numReused } = event;
  const { weightsVersion } = versionRuns[0] ?? event;
  const { drawnFrom } = options;
  const isApproximate = home.cacheDtype !== undefined;
  const stopText = event.finish === "stopString" ? options.stop[event.stopIndex] : undefined;
  return {
    ids,
    logprobs: join(chunks, "logprobs"),
    entropies: options.entropies ? join(chunks, "entropies") : undefined,
    ...topOf(chunks, options.topLogprobs),
    stop: stopOf(event, home.vocabulary.eosIds.includes(ids[ids.length - 1] ?? -1)),
    ...{ drawnFrom, isApproximate, cutBytes, weightsVersion, versionRuns, numReused, stopText },
  };
}

/** The span of a call that was aborted before it began. */
export function emptySpan(weightsVersion: number, { drawnFrom, topLogprobs }: FullOptions): Span {
  const [ids, logprobs] = [new Int32Array(), new Float32Array()];
  return {
    ...{ ids, logprobs, drawnFrom, weightsVersion, ...topOf([], topLogprobs) },
    ...{ isApproximate: false, stop: "aborted", cutBytes: 0, numReused: 0, versionRuns: [] },
  };
}

function stopOf({ finish }: SequenceEvent, isEos: boolean): SpanStop {
  if (finish === "stopId") return isEos ? "eos" : "stop";
  if (finish === "stopString") return "stop";
  return finish === "aborted" ? "aborted" : "length";
}

function joinIds(chunks: readonly SpanChunk[], name: "ids" | "topIds"): Int32Array {
  if (chunks.length === 1) return chunks[0]![name]!;
  const joined = new Int32Array(lengthOf(chunks, name));
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk[name]!, at);
    at += chunk[name]!.length;
  }
  return joined;
}

function lengthOf(
  chunks: readonly SpanChunk[],
  name: "ids" | "topIds" | "logprobs" | "entropies" | "topLogprobs",
): number {
  return chunks.reduce((sum, chunk) => sum + chunk[name]!.length, 0);
}

/** Chunks that follow each other, of one span, as one. */
export function joinChunks(chunks: readonly SpanChunk[]): SpanChunk {
  const [first] = chunks;
  return {
    ids: joinIds(chunks, "ids"),
    logprobs: join(chunks, "logprobs"),
    numReused: first!.numReused,
    ...(first!.entropies && { entropies: join(chunks, "entropies") }),
    ...(first!.topIds && { topIds: joinIds(chunks, "topIds"), topLogprobs: join(chunks, "topLogprobs") }),
  };
}

/** The numbers of all chunks, one after another; those of a single chunk are not copied. */
export function join(
  chunks: readonly SpanChunk[],
  name: "logprobs" | "entropies" | "topLogprobs",
): Float32Array {
  if (chunks.length === 1) return chunks[0]![name]!;
  const joined = new Float32Array(lengthOf(chunks, name));
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk[name]!, at);
    at += chunk[name]!.length;
  }
  return joined;
}

/** The most likely tokens of all chunks, when `count` of them were asked for. */
export function topOf(
  chunks: readonly SpanChunk[],
  count: number,
): Pick<SpanChunk, "topIds" | "topLogprobs"> {
  if (count === 0) return {};
  return { topIds: joinIds(chunks, "topIds"), topLogprobs: join(chunks, "topLogprobs") };
}
