/** `/shard`: an index as a part of a larger one, for `shardedSearch` of connectors/remote/shards. */

import { SeekError } from "../../../../lib/base/errors.ts";
import { zod } from "../../../../lib/base/on-first-use.ts";
import type { TermFrequencies } from "../../../../lib/search/bm25.ts";
import type { RowHit } from "../../../../lib/search/index-folder/find.ts";
import type { IndexShard } from "../../../../lib/search/index-folder/shard/shard.ts";
import { idsField, listField } from "../../http/body/list-field.ts";
import type { Call } from "../../http/call.ts";
import { Refusal, refused } from "../../http/refusal.ts";
import { forCall, type Retriever } from "../retriever.ts";

type Handler = (call: Call) => Promise<void>;

/** `GET /shard` to what the index is. */
export function shardRoute(retriever: Retriever): Handler {
  return async (call) => {
    call.answer(await forCall(call, retriever.shard.describe()));
  };
}

/** A shard that is the one that was asked. @throws Refusal for another index than the client has seen */
async function shardFor({ shard }: Retriever, expected: string): Promise<IndexShard> {
  const { digest } = await shard.describe();
  if (digest === expected) return shard;
  throw new Refusal("conflict", `this server has another index: expected ${expected}, got ${digest}`);
}

/** Runs work that counts as so many queries; what the request itself has wrong is the client's fault. */
async function work<Result>(
  call: Call,
  retriever: Retriever,
  count: number,
  run: () => Promise<Result>,
): Promise<Result> {
  const leave = retriever.gate.enter(count);
  try {
    return await forCall(call, run().catch(refuseArguments));
  } finally {
    leave();
  }
}

const clientsFaults: readonly string[] = ["ERR_ARGUMENT", "ERR_RANGE", "ERR_SHAPE"];

function refuseArguments(error: unknown): never {
  if (error instanceof SeekError && clientsFaults.includes(error.code))
    throw new Refusal("invalid_request", error.message);
  throw error;
}

/**
 * `{digest, words: [query], vectors: [query]}` to `{frequencies: [[df]], vectors}`: in how many passages here the terms
 * of each query of `words` stand, and the queries of `vectors` as little-endian f32 in base64.
 */
export function prepareRoute(retriever: Retriever): Handler {
  const { queries } = retriever.shapes;
  const schema = zod().strictObject({ digest: zod().string(), words: queries, vectors: queries });
  return async (call) => {
    const { digest, words, vectors } = await retriever.read(call, schema);
    const shard = await shardFor(retriever, digest);
    const [found, embedded] = await work(call, retriever, words.length + vectors.length, () =>
      Promise.all([
        words.length === 0 ? undefined : shard.frequencies(words),
        vectors.length === 0 ? undefined : shard.embed(vectors, call.signal),
      ]),
    );
    call.answer({
      frequencies: found === undefined ? [] : listsOf(found),
      vectors: embedded === undefined ? "" : base64Of(embedded),
    });
  };
}

function listsOf({ counts, frequencies }: TermFrequencies): number[][] {
  let at = 0;
  return Array.from(counts, (count) => {
    at += count;
    return [...frequencies.subarray(at - count, at)];
  });
}

function base64Of({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString("base64");
}

/** Little-endian, as on every machine that SeekRL runs on. */
function floatsOf(base64: string): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(base64, "base64"));
  if (bytes.length % 4 !== 0) throw refused(["vectors"], `expected f32, got ${bytes.length} bytes`);
  return new Float32Array(bytes.buffer);
}

function flat(lists: readonly (readonly number[])[]): TermFrequencies {
  return {
    counts: Int32Array.from(lists, ({ length }) => length),
    frequencies: Float64Array.from(lists.flat()),
  };
}

/**
 * `{digest, topK, words?: {queries, numPassages, numTerms, frequencies}, vectors?}` to `{words?, vectors?}`, each
 * `{rows: [[row]], scores: [[score]]}`, best first. Rows are counted from the shard's first passage.
 */
export function findRoute(retriever: Retriever): Handler {
  const z = zod();
  const { queries, topK } = retriever.shapes;
  const size = z.int().min(0);
  const schema = z.strictObject({
    digest: z.string(),
    topK,
    words: z
      .strictObject({
        queries,
        numPassages: size,
        numTerms: size,
        frequencies: listField(listField(z.number())),
      })
      .optional(),
    vectors: z.string().optional(),
  });
  return async (call) => {
    const { digest, topK, words, vectors } = await retriever.read(call, schema);
    const shard = await shardFor(retriever, digest);
    const asked = {
      topK,
      words: words && { queries: words.queries, whole: words, frequencies: flat(words.frequencies) },
      vectors: vectors === undefined ? undefined : floatsOf(vectors),
    };
    const numQueries = words?.queries.length ?? 1;
    const found = await work(call, retriever, numQueries, () => shard.find(asked));
    call.answer({ words: columnsOf(found.words), vectors: columnsOf(found.vectors) });
  };
}

function columnsOf(found: readonly (readonly RowHit[])[] | undefined): object | undefined {
  if (found === undefined) return undefined;
  return {
    rows: found.map((hits) => hits.map(({ row }) => row)),
    scores: found.map((hits) => hits.map(({ score }) => score)),
  };
}

/** `{digest, rows: [row]}` to `{passages: [{id, title, text}]}`. */
export function passagesRoute(retriever: Retriever): Handler {
  const z = zod();
  const schema = z.strictObject({
    digest: z.string(),
    rows: idsField({ max: retriever.limits.maxHits }),
  });
  return async (call) => {
    const { digest, rows } = await retriever.read(call, schema);
    const shard = await shardFor(retriever, digest);
    const passages = await work(call, retriever, 1, () => shard.read(rows));
    call.answer({ passages });
  };
}
