/** `POST /retrieve`, the protocol of RAG-R1 and Search-R1. */
import { zod } from "../../../../lib/base/on-first-use.ts";
import type { Hit } from "../../../../lib/search/search.ts";
import type { Call } from "../../http/call.ts";
import { listOf } from "../../http/slices.ts";
import type { RetrieverOptions } from "../options.ts";
import { leniencyOf, type Retriever } from "../retriever.ts";
import { type ContentsForm, contentsOf } from "./contents.ts";

interface Document {
  readonly id: string;
  readonly contents: string;
}

const documentOf = (hit: Hit, form: ContentsForm): Document => ({
  id: hit.id,
  contents: contentsOf(hit, form),
});

/**
 * `{queries, topk?, return_scores?}` to `{"result": [[{"document": {"id", "contents"}, "score"}]]}`, without scores
 * `{"result": [[{"id", "contents"}]]}`. A `topk` of null is the server's.
 */
export function retrieveRoute(
  retriever: Retriever,
  { topK = 3, contents = "quoted", ...options }: RetrieverOptions,
): (call: Call) => Promise<void> {
  const schema = zod().object({
    queries: retriever.shapes.queries,
    topk: retriever.shapes.topK.nullish(),
    return_scores: zod().boolean().default(false),
  });
  const names = { queries: "queries", topK: "topk" };
  return async (call) => {
    const { queries, topk, return_scores: hasScores } = await retriever.read(call, schema);
    const found = await retriever.find(call, {
      ...{ queries, topK: topk ?? topK, names },
      ...leniencyOf(options),
    });
    const itemOf = (hit: Hit): object => {
      const document = documentOf(hit, contents);
      return hasScores ? { document, score: hit.score } : document;
    };
    await call.answerLong(
      '{"result":',
      listOf(found, (hits) => hits.map(itemOf)),
      "}",
    );
  };
}
