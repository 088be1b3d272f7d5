/** `POST /search`, `POST /batch_search` and `GET /health`, the protocol of ReSearch's and FlashRAG's server. */
import { zod } from "../../../../lib/base/on-first-use.ts";
import type { Hit } from "../../../../lib/search/search.ts";
import type { Call } from "../../http/call.ts";
import type { Gate } from "../../http/gate.ts";
import { listOf } from "../../http/slices.ts";
import type { RetrieverOptions } from "../options.ts";
import { leniencyOf, type Retriever } from "../retriever.ts";
import { type ContentsForm, contentsOf } from "./contents.ts";

/** The originals' default, in the protocol rather than in the server. */
const defaultTopN = 10;

const documentsOf = (hits: readonly Hit[], form: ContentsForm): object[] =>
  hits.map((hit) => ({ id: hit.id, contents: contentsOf(hit, form) }));

const scoresOf = (hits: readonly Hit[]): number[] => hits.map(({ score }) => score);

const names = { queries: "query", topK: "top_n" };

/** `{query: str, top_n?, return_score?}` to `[doc]`, or to `[[doc], [score]]`. */
export function searchRoute(
  retriever: Retriever,
  { contents = "quoted" }: RetrieverOptions,
): (call: Call) => Promise<void> {
  const schema = zod().object({
    query: retriever.shapes.query,
    top_n: retriever.shapes.topK.default(defaultTopN),
    return_score: zod().boolean().default(false),
  });
  return async (call) => {
    const { query, top_n: topK, return_score: hasScores } = await retriever.read(call, schema);
    const [hits = []] = await retriever.find(call, { queries: [query], topK, names, ...leniencyOf({}) });
    const documents = documentsOf(hits, contents);
    call.answer(hasScores ? [documents, scoresOf(hits)] : documents);
  };
}

/** `{query: [str], top_n?, return_score?}` to `[[doc]]`, or to `[[[doc]], [[score]]]`. */
export function batchSearchRoute(
  retriever: Retriever,
  { contents = "quoted", ...options }: RetrieverOptions,
): (call: Call) => Promise<void> {
  const schema = zod().object({
    query: retriever.shapes.queries,
    top_n: retriever.shapes.topK.default(defaultTopN),
    return_score: zod().boolean().default(false),
  });
  return async (call) => {
    const { query: queries, top_n: topK, return_score: hasScores } = await retriever.read(call, schema);
    const found = await retriever.find(call, { queries, topK, names, ...leniencyOf(options) });
    const documents = listOf(found, (hits) => documentsOf(hits, contents));
    if (hasScores) await call.answerLong("[", documents, ",", listOf(found, scoresOf), "]");
    else await call.answerLong(documents);
  };
}

/** `{"status", "retrievers": {"total", "available"}}`; 503 unless queries are answered. */
export function healthRoute(gate: Gate): (call: Call) => void {
  return (call) => {
    const isReady = gate.state === "ready";
    const retrievers = { total: 1, available: gate.isOpen ? 1 : 0 };
    call.answer({ status: isReady ? "healthy" : gate.state, retrievers }, isReady ? 200 : 503);
  };
}
