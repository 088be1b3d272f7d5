/** `POST /queries`, the protocol of R1-Searcher. */
import { zod } from "../../../../lib/base/on-first-use.ts";
import type { Call } from "../../http/call.ts";
import { listOf } from "../../http/slices.ts";
import type { RetrieverOptions } from "../options.ts";
import { leniencyOf, type Retriever } from "../retriever.ts";
import { contentsOf } from "./contents.ts";

/** `{queries: [str], k?}` to `{queries, answers: [[str]]}`. */
export function queriesRoute(
  retriever: Retriever,
  { topK = 3, contents = "spaced", ...options }: RetrieverOptions,
): (call: Call) => Promise<void> {
  const schema = zod().object({ queries: retriever.shapes.queries, k: retriever.shapes.topK.default(topK) });
  const names = { queries: "queries", topK: "k" };
  return async (call) => {
    const { queries, k } = await retriever.read(call, schema);
    const found = await retriever.find(call, {
      ...{ queries, topK: k, names },
      ...leniencyOf(options),
    });
    const asked = listOf(queries, (query) => query);
    const answers = listOf(found, (hits) => hits.map((hit) => contentsOf(hit, contents)));
    await call.answerLong('{"queries":', asked, ',"answers":', answers, "}");
  };
}
