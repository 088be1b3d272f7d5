/** Requests to the retrieval servers of the published systems, and their answers. */
import type { z } from "zod";
import { lazySchema } from "../../lib/base/on-first-use.ts";
import type { Hit } from "../../lib/search/search.ts";
import { documentSchema, type RemoteDocument, remoteHit } from "./remote-hit.ts";

/**
 * The servers' languages: `retrieve` is RAG-R1's and Search-R1's, `search` and `batch_search` are ReSearch's (and
 * FlashRAG's), `queries` is R1-Searcher's.
 */
export type RetrieverProtocol = "retrieve" | "search" | "batch_search" | "queries";

/** One of them. */
export interface ProtocolShape {
  readonly path: string;
  /** Queries that one request can carry. */
  readonly maxQueries: number;
  body(queries: readonly string[], topK: number): object;
  /** The answer, read into one list of hits per query. */
  readonly answer: z.ZodType<Hit[][]>;
}

const score = lazySchema((z) => z.number());
const scoredDocument = lazySchema((z) =>
  z.union([z.looseObject({ document: documentSchema(), score: score().optional() }), documentSchema()]),
);

function scoredHit(item: z.output<ReturnType<typeof scoredDocument>>, rank: number): Hit {
  if (typeof item === "string" || !("document" in item)) return remoteHit(item as RemoteDocument, rank);
  const { document, score } = item as { document: RemoteDocument; score?: number };
  return remoteHit(document, rank, score);
}

const documentList = lazySchema((z) => z.array(documentSchema()));

function hitsOf(documents: readonly RemoteDocument[], scores: readonly number[] = []): Hit[] {
  return documents.map((document, rank) => remoteHit(document, rank, scores[rank]));
}

const manyQueries = Number.POSITIVE_INFINITY;

/** All of them by name. */
export const protocolShapes = lazySchema(
  (z): Readonly<Record<RetrieverProtocol, ProtocolShape>> => ({
    retrieve: {
      path: "/retrieve",
      maxQueries: manyQueries,
      body: (queries, topk) => ({ queries, topk, return_scores: true }),
      answer: z
        .looseObject({ result: z.array(z.array(scoredDocument())) })
        .transform(({ result }) => result.map((items) => items.map(scoredHit))),
    },
    search: {
      path: "/search",
      maxQueries: 1,
      body: ([query], topN) => ({ query, top_n: topN, return_score: true }),
      answer: z.union([
        z.tuple([documentList(), z.array(score())]).transform(([found, scores]) => [hitsOf(found, scores)]),
        documentList().transform((found) => [hitsOf(found)]),
      ]),
    },
    batch_search: {
      path: "/batch_search",
      maxQueries: manyQueries,
      body: (query, topN) => ({ query, top_n: topN, return_score: true }),
      answer: z.union([
        z
          .tuple([z.array(documentList()), z.array(z.array(score()))])
          .transform(([found, scores]) => found.map((documents, i) => hitsOf(documents, scores[i]))),
        z.array(documentList()).transform((found) => found.map((documents) => hitsOf(documents))),
      ]),
    },
    queries: {
      path: "/queries",
      maxQueries: manyQueries,
      body: (queries, k) => ({ queries, k }),
      answer: z
        .looseObject({ answers: z.array(documentList()) })
        .transform(({ answers }) => answers.map((documents) => hitsOf(documents))),
    },
  }),
);
