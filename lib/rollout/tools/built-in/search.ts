/** Any search as a tool. */
import { checkOptions } from "../../../base/check-options.ts";
import { zod } from "../../../base/on-first-use.ts";
import { askSearch, type Search } from "../../../search/search.ts";
import { type Tool, tool } from "../tool.ts";
import { type ToolWording, wordingKinds } from "./calculator.ts";

/** What the tool is called, and how much it finds. */
export interface SearchToolOptions extends ToolWording {
  /** Documents of a call that does not say how many. @default 3 */
  readonly topK?: number;
  /** Documents that a call may ask for. @default 10 */
  readonly maxTopK?: number;
}

/**
 * A tool that searches. Over `withBatching(search)` the calls of all trajectories are gathered.
 *
 * @param search - an index, a server, the web
 * @param options - `name`, `@default` "search", `description`, and how many documents
 * @returns a tool with the input `{query, topK?}`
 * @example
 * const { run } = toolBox([searchTool(search)]);
 * const [{ text }] = await run([{ name: "search", input: { query: "capital of France" }, text: "" }]);
 * assert.match(text, /^Doc 1: Paris\n/);
 */
export function searchTool(search: Search, options: SearchToolOptions = {}): Tool {
  checkOptions("searchTool", options, { ...wordingKinds, topK: "number", maxTopK: "number" });
  const {
    name = "search",
    description = "Finds passages of text for a query.",
    topK = 3,
    maxTopK = 10,
  } = options;
  return tool({
    name,
    description,
    input: zod().object({
      query: zod().string().trim().min(1).describe("what to look for: a question or some words"),
      topK: zod().int().min(1).max(Math.max(topK, maxTopK)).default(topK).describe("how many passages"),
    }),
    run: async ({ query, topK: wanted }, { signal }) => {
      const [documents = []] = await askSearch(search, [query], { topK: wanted, signal });
      if (documents.length === 0) return "Nothing was found.";
      const lines = documents.map(({ title, text }, i) => `Doc ${i + 1}: ${title}\n${text}`);
      return { text: lines.join("\n"), documents };
    },
  });
}
