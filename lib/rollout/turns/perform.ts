/** How the calls of one action are executed: by one search for all of them, unless an agent has tools. */
import type { Document } from "../../text/observation.ts";
import { type BracketOptions, parseBracketCalls } from "../../tools/bracket-calls.ts";
import { parseJsonCall } from "../../tools/json-calls.ts";
import type { RunTools, ToolBox, ToolCall, ToolResult } from "../../tools/tool-box.ts";
import type { SearchDocuments } from "../seams.ts";
import { type DeadlineOptions, searchBefore } from "./search-before.ts";

/** What the calls of one action brought. */
export interface CallOutcome {
  /**
   * One list for each call, best first; what the policy shall read of a call that failed stands there as a document.
   * Absent when nothing came of any call: the policy then reads the format's `failure`.
   */
  readonly documents?: readonly (readonly Document[])[];
  /** What the calls found, where that is not what the policy reads. @default `documents` */
  readonly found?: readonly (readonly Document[])[];
  /** Why calls failed, one reason for each; they are counted. */
  readonly failures: readonly string[];
}

/** Executes the calls of one action in parallel, each before the deadline. Never rejects (law 7). */
export type PerformCalls = (calls: readonly string[], options: DeadlineOptions) => Promise<CallOutcome>;

/**
 * Calls that are queries: one search for all of them.
 *
 * @param search - may hang, throw or answer too little
 * @returns a function that gives documents, or one failure for all calls
 */
export function performSearch(search: SearchDocuments): PerformCalls {
  return async (queries, options) => {
    const outcome = await searchBefore(search, queries, options);
    return "failure" in outcome ? { failures: [outcome.failure] } : { ...outcome, failures: [] };
  };
}

/**
 * Calls in JSON, as ReCall's policies write them, run by a box of tools.
 *
 * @param box - the tools
 * @returns a function that gives one document without a title for each call: its result, or why it has none
 * @example
 * const perform = performJsonCalls(toolBox([calculatorTool()]));
 * const call = '{"name": "calculator", "arguments": {"expression": "6 * 7"}}';
 * const { documents } = await perform([call], { topK: 1, timeoutMs: 1000 });
 * assert.deepEqual(documents, [[{ title: "", text: "42" }]]);
 */
export function performJsonCalls({ run }: ToolBox): PerformCalls {
  return performTools(run, parseJsonCall);
}

/**
 * Calls of the form `[Name] text`, as Agentic-RAG-R1's policies write them, run by a box of tools.
 *
 * @param box - the tools
 * @param options - the tool of a text without a name, `@default` the first one of the box
 * @returns a function that gives one document without a title for each call: its result, or why it has none
 * @example
 * const perform = performBracketCalls(toolBox([calculatorTool()]));
 * const { documents } = await perform(["[calculator] 6 * 7", "1 + 1"], { topK: 1, timeoutMs: 1000 });
 * assert.deepEqual(documents.flat().map(({ text }) => text), ["42", "2"]);
 */
export function performBracketCalls(
  { run, tools: [first] }: ToolBox,
  { fallback = first?.name }: BracketOptions = {},
): PerformCalls {
  return performTools(run, (text) => {
    const [call] = parseBracketCalls(text.replaceAll("\n", " "), fallback === undefined ? {} : { fallback });
    return call ?? { name: "", input: "", text, fault: "expected a call, got nothing" };
  });
}

function performTools(run: RunTools, read: (text: string) => ToolCall): PerformCalls {
  return async (texts, { timeoutMs, signal }) => {
    const results = await run(texts.map(read), { timeoutMs, signal });
    return {
      documents: results.map(({ text }) => [{ title: "", text }]),
      found: results.map(foundBy),
      failures: results.flatMap(({ failure }) => (failure ? [`${failure.kind}: ${failure.message}`] : [])),
    };
  };
}

function foundBy({ text, documents, failure }: ToolResult): readonly Document[] {
  return documents ?? (failure ? [] : [{ title: "", text }]);
}
