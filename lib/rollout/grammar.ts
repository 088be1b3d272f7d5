/** Reads the action out of what the policy wrote in one turn. */
import type { QueryMode } from "../text/observation.ts";

/** Why a turn holds no action. */
export type InvalidReason = "no action" | "no query";

/** What a turn asks for. `end` is where the action's closing tag ends in the text. */
export type Action =
  | {
      readonly kind: "search";
      readonly queries: readonly string[];
      readonly dropped: number;
      readonly end: number;
    }
  | { readonly kind: "answer"; readonly answer: string; readonly end: number }
  | { readonly kind: "invalid"; readonly reason: InvalidReason };

/** How `parseTurn` reads queries. */
export interface ParseOptions {
  /** One query, or several separated by commas. @default "single" */
  readonly mode?: QueryMode;
  /** Queries beyond this many are dropped and counted. @default 3 */
  readonly maxQueries?: number;
}

/** Strings that end a turn: generation stops as soon as one is complete. */
export const turnEnds: readonly string[] = ["</search>", "</answer>"];

/**
 * The first complete `<search>` or `<answer>` of a turn. Takes time linear in the text, for any text.
 *
 * @param text - what the policy wrote in this turn, and nothing else (law 9)
 * @param options - how queries are read
 * @returns the action, or why there is none
 * @example
 * const action = parseTurn('<search> "Paris, Texas", Dallas </search>', { mode: "multi" });
 * assert.deepEqual(action.kind === "search" && action.queries, ["Paris, Texas", "Dallas"]);
 */
export function parseTurn(text: string, { mode = "single", maxQueries = 3 }: ParseOptions = {}): Action {
  const search = firstBlock(text, "search");
  const answer = firstBlock(text, "answer");
  if (answer && (!search || answer.start < search.start)) {
    return { kind: "answer", answer: answer.content, end: answer.end };
  }
  if (!search) return { kind: "invalid", reason: "no action" };
  const asked =
    mode === "single" ? [search.content].filter((query) => query !== "") : splitQueries(search.content);
  if (asked.length === 0) return { kind: "invalid", reason: "no query" };
  const queries = asked.slice(0, maxQueries);
  return { kind: "search", queries, dropped: asked.length - queries.length, end: search.end };
}

/**
 * The last complete answer in one policy text.
 *
 * @param text - what the policy wrote
 * @returns its content, trimmed; undefined when there is none
 * @example
 * assert.equal(lastAnswer("<answer> a </answer> no: <answer> b </answer>"), "b");
 */
export function lastAnswer(text: string): string | undefined {
  let found: string | undefined;
  let from = 0;
  for (;;) {
    const block = firstBlock(text, "answer", from);
    if (!block) return found;
    found = block.content;
    from = block.end;
  }
}

/**
 * Splits the content of a multi-query search at its commas. A query that begins with a double quote keeps the
 * commas up to the closing quote; quotes around a whole query are removed.
 *
 * @param content - what stands between the search tags
 * @returns the queries in order, trimmed, without empty ones
 * @example
 * assert.deepEqual(splitQueries("capital of France, Italy"), ["capital of France", "Italy"]);
 */
export function splitQueries(content: string): string[] {
  const queries: string[] = [];
  let start = 0;
  while (start <= content.length) {
    const end = queryEnd(content, start);
    const query = unquote(content.slice(start, end).trim());
    if (query !== "") queries.push(query);
    start = end + 1;
  }
  return queries;
}

interface Block {
  readonly start: number;
  readonly end: number;
  readonly content: string;
}

// The first opening tag decides: when nothing closes after it, nothing closes after a later one either.
function firstBlock(text: string, tag: string, from = 0): Block | undefined {
  const start = text.indexOf(`<${tag}>`, from);
  if (start < 0) return undefined;
  const contentStart = start + tag.length + 2;
  const contentEnd = text.indexOf(`</${tag}>`, contentStart);
  if (contentEnd < 0) return undefined;
  return { start, end: contentEnd + tag.length + 3, content: text.slice(contentStart, contentEnd).trim() };
}

function queryEnd(content: string, start: number): number {
  const opening = start + (content.slice(start).match(/^\s*/)?.[0].length ?? 0);
  const closing = content[opening] === '"' ? content.indexOf('"', opening + 1) : -1;
  const comma = content.indexOf(",", closing < 0 ? start : closing + 1);
  return comma < 0 ? content.length : comma;
}

function unquote(query: string): string {
  const isQuoted = query.length >= 2 && query.indexOf('"', 1) === query.length - 1 && query.startsWith('"');
  return isQuoted ? query.slice(1, -1).trim() : query;
}
