/** Tools that search and read: `search`, `read_passage`, `corpus`. */
import type { McpServer } from "@modelcontextprotocol/server";
import { beforeDeadline } from "../../../lib/base/deadline.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import { askSearch, type Hit } from "../../../lib/search/search.ts";
import type { McpToolParts, ServedCorpus } from "./parts.ts";
import { type ToolAnswer, told } from "./told.ts";

const passage = lazySchema((z) =>
  z.object({ id: z.string(), title: z.string(), text: z.string(), url: z.string().optional() }),
);

const schemas = lazySchema((z) => ({
  search: z.object({
    queries: z.array(z.string().trim().min(1)).min(1).max(16).describe("questions, or some words each"),
    topK: z.int().min(1).max(50).default(3).describe("passages of each query"),
  }),
  found: z.object({
    results: z.array(z.object({ query: z.string(), passages: z.array(passage()) })),
  }),
  read: z.object({
    name: z.string().trim().min(1).describe("title of a document, or id of a passage"),
    part: z.int().min(1).optional().describe("the passage to begin with; that of the id, or the first one"),
    count: z.int().min(1).max(20).default(1).describe("how many passages"),
  }),
  document: z.object({
    title: z.string(),
    numParts: z.number(),
    parts: z.array(z.object({ part: z.number(), id: z.string(), text: z.string() })),
  }),
}));

/** Adds the tool that searches. */
export function addSearch(server: McpServer, parts: McpToolParts): void {
  const { search, found } = schemas();
  const { searchTimeoutMs: timeoutMs = 30_000 } = parts;
  server.registerTool(
    "search",
    {
      description: "Finds passages of text for one or several queries, best first.",
      inputSchema: search,
      outputSchema: found,
      annotations: { readOnlyHint: true },
    },
    (asked, context) =>
      told("search", parts, async () => {
        const { signal } = context.mcpReq;
        const { queries, topK } = asked;
        const ask = (ended: AbortSignal) => askSearch(parts.search, queries, { topK, signal: ended });
        const outcome = await beforeDeadline(ask, { timeoutMs, signal });
        if (outcome.kind === "failed") throw outcome.error;
        if (outcome.kind !== "done")
          throw new SeekError("ERR_REMOTE", `search: ${outcome.kind} within ${timeoutMs} ms`);
        return foundAnswer(queries, outcome.result);
      }),
  );
}

/** The address of a passage of the web, whose id it is. */
const urlOf = (id: string): { readonly url?: string } => (/^https?:\/\//.test(id) ? { url: id } : {});

function foundAnswer(queries: readonly string[], lists: readonly (readonly Hit[])[]): ToolAnswer {
  const results = queries.map((query, i) => ({
    query,
    passages: (lists[i] ?? []).map(({ id, title, text }) => ({ id, title, text, ...urlOf(id) })),
  }));
  const lines = results.flatMap(({ query, passages }) => [
    `# ${query}`,
    ...(passages.length === 0 ? ["Nothing was found."] : []),
    ...passages.map(({ id, title, text }) => `[${id}] ${title}\n${text}`),
  ]);
  return { text: lines.join("\n\n"), structured: { results } };
}

/** Adds the tools that read documents and describe all of them. */
export function addCorpus(server: McpServer, corpus: ServedCorpus, parts: McpToolParts): void {
  const { read, document } = schemas();
  const annotations = { readOnlyHint: true };
  server.registerTool(
    "read_passage",
    {
      description:
        "Reads passages of a document that is known by its title or by the id of one of its passages.",
      ...{ inputSchema: read, outputSchema: document, annotations },
    },
    ({ name, part, count }) =>
      told("read_passage", parts, async () => {
        const found = await corpus.find(name);
        if (found === undefined) return { text: `There is no document or passage "${name}".`, isError: true };
        const first = (part ?? found.at + 1) - 1;
        const { title, numPassages: numParts } = found;
        if (first >= numParts) {
          return { text: `${title} has ${numParts} parts, and no part ${first + 1}.`, isError: true };
        }
        const passages = await found.read(first, count);
        const read_ = passages.map(({ id, text }, i) => ({ part: first + i + 1, id, text }));
        const lines = read_.map(({ part: at, text }) => `${title}, part ${at} of ${numParts}:\n${text}`);
        return { text: lines.join("\n\n"), structured: { title, numParts, parts: read_ } };
      }),
  );
  server.registerTool(
    "corpus",
    { description: "Says what is searched: how many passages, and how.", annotations },
    () =>
      told("corpus", parts, async () => {
        const structured = await corpus.describe();
        return { text: JSON.stringify(structured, null, 2), structured };
      }),
  );
}
